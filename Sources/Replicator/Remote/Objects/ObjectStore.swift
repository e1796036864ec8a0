/// A place that keeps objects under names: what a remote of files or of S3 objects is made of.
///
/// An object is written once and never changed. All calls may be made from many tasks at once, and several processes
/// and machines may use one place at the same time.
///
/// **What must hold.** An object is seen whole or not at all. Of all that put under one name exactly one succeeds,
/// and every later call sees its object. After an error nothing is known of the call's effect; it can be repeated.
package protocol ObjectStore: Sendable {
  /// What it is, for messages, such as `folder:/mnt/team`.
  var name: String { get }

  /// Reads an object; nil if there is none.
  ///
  /// - Throws: ``RemoteError`` `damaged` if what is there is no object, or is larger than `bytesMax`; `unreachable`,
  ///   `notARemote`, `denied`, `system`.
  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]?

  /// Reads the first `count` bytes of an object, or all if it is smaller; nil if there is none.
  ///
  /// - Throws: ``RemoteError``, as ``get(_:bytesMax:)``.
  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix?

  /// Writes an object unless there is one of that name. When it returns, whatever is there lasts.
  ///
  /// - Returns: whether it was written; false if something was there already.
  /// - Throws: ``RemoteError``, as ``get(_:bytesMax:)``; `overQuota`, `unsuitable`.
  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool

  /// Waits until objects last that were seen, and whose put may not have returned: one that is there, and those with the
  /// same path but for the last component.
  ///
  /// Where it cannot be done, because one may only read there, it does nothing.
  func makeLasting(_ name: ObjectName) async throws(RemoteError)

  /// Lists what there is, whoever put it there, in the order of the paths.
  ///
  /// For tools: a list may be late, so nothing that must be right is ever found by one.
  func list() async throws(RemoteError) -> [ObjectEntry]

  /// Removes an object; a success if there is none. For what nobody needs any more, or a part of an asset or an amendment
  /// that is damaged; never for what is in a log.
  func delete(_ name: ObjectName) async throws(RemoteError)

  /// Yields whenever an object may have been put, coalesced; ends at once where the place does not tell.
  func changes() -> AsyncStream<Void>
}

extension ObjectStore {
  /// Where what is seen lasts already.
  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {}
}

/// The beginning of an object.
package struct ObjectPrefix: Hashable, Sendable {
  package var bytes: [UInt8]
  /// How many bytes the object has.
  package var totalBytes: UInt64

  package init(bytes: [UInt8], totalBytes: UInt64) {
    self.bytes = bytes
    self.totalBytes = totalBytes
  }
}

/// Something that lies in a remote's place.
package struct ObjectEntry: Hashable, Sendable {
  /// Its path below the place, with slashes.
  package var path: String
  /// Its object's name; nil if it has none of ours: it is foreign.
  package var name: ObjectName?
  /// Its size; nil for what has none, such as a directory.
  package var bytes: UInt64?

  package init(path: String, bytes: UInt64?) {
    self.path = path
    name = bytes == nil ? nil : ObjectName(path: path)
    self.bytes = bytes
  }
}
