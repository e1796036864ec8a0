/// Keeps objects under names: files of a folder, objects in memory, or later S3 objects.
///
/// An object is written once and never changed, except by ``overwrite(_:_:)``. Many tasks may make calls at
/// once, and several processes and machines may use one place at the same time.
///
/// **What must hold.** An object is visible whole or not at all. Of all puts under one name exactly one
/// succeeds, and every later call sees its object. After an error the effect of the call is unknown; the
/// caller repeats it.
package protocol ObjectStore: Sendable {
  /// The place's name for messages, such as `folder:/mnt/team`.
  var name: String { get }

  /// Reads an object; nil if there is none.
  ///
  /// - Throws: ``RemoteError`` `damaged` if something else than an object has the name, or if the object is
  ///   larger than `bytesMax`; `unreachable`, `notARemote`, `denied`, `system`.
  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]?

  /// Reads the first `count` bytes of an object, or all if it is smaller; nil if there is none.
  ///
  /// - Throws: ``RemoteError``, as ``get(_:bytesMax:)``.
  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix?

  /// Writes an object unless one has that name. When it returns, the object of that name is durable.
  ///
  /// - Returns: whether it was written; false if one existed.
  /// - Throws: ``RemoteError``, as ``get(_:bytesMax:)``; `overQuota`, `unsuitable`.
  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool

  /// Writes an object unless one has that name, as ``putIfAbsent(_:_:)``. Its bytes may say when it was put. Without an
  /// implementation the place has no clock.
  ///
  /// - Parameter bytes: makes the object from the place's time, in milliseconds since 1970, at most `Int64.max`; that is
  ///   nil if the place has no clock. It gives the same for the same time. If it gives nil, nothing is written.
  /// - Throws: ``RemoteError``, as ``putIfAbsent(_:_:)``.
  func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut

  /// Writes an object, and replaces the one of that name. Readers see one of the two whole. Of several that
  /// overwrite at once, one lasts. A hint need not survive a power cut; of any other object, one of the two does.
  ///
  /// - Throws: ``RemoteError``, as ``putIfAbsent(_:_:)``.
  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError)

  /// Waits until an object that was seen, and all in the same directory, are durable: the put of one that was
  /// seen may not have returned.
  ///
  /// If the user may not do that, for example on a read-only mount, it does nothing.
  func makeLasting(_ name: ObjectName) async throws(RemoteError)

  /// The first entry after another in the same log, or in the list of zones; nil if there is none. It may miss
  /// some that were put just now.
  ///
  /// - Parameter name: an entry's name; the entry need not exist.
  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName?

  /// Lists all that is there, foreign files too, in the order of the paths.
  ///
  /// For tools only: a list may be late.
  func list() async throws(RemoteError) -> [ObjectEntry]

  /// Removes an object; a success if there is none. For objects that nobody needs any more, and for damaged
  /// parts of assets and amendments; for entries of a log only below its floor, or if it was discarded.
  func delete(_ name: ObjectName) async throws(RemoteError)

  /// Removes the assets and snapshots beside a log that is closed. Without an implementation it lists all that is there.
  func removeAssets(of incarnation: IncarnationID) async throws(RemoteError)

  /// Yields when an object may have been put; ends at once if the place does not notify.
  func changes() -> AsyncStream<RemoteHint>
}

extension ObjectStore {
  package func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    guard let bytes = bytes(nil) else { return .declined(nil) }
    return try await putIfAbsent(name, bytes) ? .put(nil) : .exists
  }

  package func removeAssets(of incarnation: IncarnationID) async throws(RemoteError) {
    for object in try await list() {
      guard let name = object.name, name.incarnation == incarnation, name.goesWithZone else { continue }
      try await delete(name)
    }
  }

  /// If an entry is missing, but one that follows is there: the offset of the first of these; nil if nothing is
  /// missing.
  func entryAfterGap(at name: ObjectName) async throws(RemoteError) -> UInt64? {
    guard let next = try await nextEntry(after: name)?.offset else { return nil }
    // Both may have been put since.
    return try await exists(name) ? nil : next
  }

  /// The offset of the first entry that a log has; nil if it has none.
  func firstEntry(of incarnation: IncarnationID) async throws(RemoteError) -> UInt64? {
    let name = ObjectName.entry(of: incarnation, 1)
    return try await exists(name) ? 1 : nextEntry(after: name)?.offset
  }

  /// The number of the last object of a list that is dense from 1; 0 if there is none.
  ///
  /// - Complexity: O(log n) calls
  func lastNumber(_ name: (UInt64) -> ObjectName) async throws(RemoteError) -> UInt64 {
    var (there, absent) = (UInt64(0), UInt64(1))
    while absent < 1 << 40, try await exists(name(absent)) { (there, absent) = (absent, absent * 2) }
    while absent - there > 1 {
      let middle = there + (absent - there) / 2
      if try await exists(name(middle)) { there = middle } else { absent = middle }
    }
    return there
  }

  /// Whether anything has a name, also something that is not an object.
  func exists(_ name: ObjectName) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      return try await getPrefix(name, 1) != nil
    } catch {
      if error.isOfForeign || error.isAboutOneObject { return true }
      throw error
    }
  }

  /// Whether something that is not an object, such as a directory, has a name.
  func hasForeign(_ name: ObjectName) async throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      _ = try await getPrefix(name, 1)
      return false
    } catch {
      if error.isOfForeign { return true }
      throw error
    }
  }
}

/// The beginning of an object.
package struct ObjectPrefix: Hashable, Sendable {
  package var bytes: [UInt8]
  /// The object's size.
  package var totalBytes: UInt64

  package init(bytes: [UInt8], totalBytes: UInt64) { (self.bytes, self.totalBytes) = (bytes, totalBytes) }
}

/// A file or object in a remote's place.
package struct ObjectEntry: Hashable, Sendable {
  /// Its path below the place, with slashes.
  package var path: String
  /// The name as the remote's object; nil if it is foreign.
  package var name: ObjectName?
  /// Its size; nil for something without a size, such as a directory.
  var bytes: UInt64?

  package init(path: String, bytes: UInt64?) {
    self.path = path
    name = bytes == nil ? nil : ObjectName(path: path)
    self.bytes = bytes
  }
}
