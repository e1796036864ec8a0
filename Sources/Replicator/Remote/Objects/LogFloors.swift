internal import OperationFormat

/// Where logs begin. The floors of a log are a list of their own, dense from 1: each is written once, and above
/// the one before.
///
/// A floor is written before the entries that it takes away are removed, from the first on. So a reader that
/// misses an entry learns whether the remote has lost it, or a snapshot stands for it. One that turns out to be wrong is
/// replaced by the next, which may be lower.
struct LogFloors: Sendable {
  let objects: any ObjectStore

  /// The floor of a log; nil if it begins with its first entry.
  ///
  /// - Throws: ``RemoteError`` `damagedSegment` if it has one that cannot be read.
  func floor(of incarnation: IncarnationID) async throws(RemoteError) -> LogFloor? {
    let last = try await last(of: incarnation)
    guard last > 0 else { return nil }
    let floor = try await read(last, of: incarnation)
    return floor.offset == 1 && floor.hasEntry ? nil : floor
  }

  /// The offset of the first entry that a log may have. Where its floor cannot be read, it is the first that is there.
  func first(of incarnation: IncarnationID) async throws(RemoteError) -> UInt64 {
    try await begin(of: incarnation).first
  }

  /// The same, and whether the entry there need not be there, since a snapshot stands for it.
  func begin(
    of incarnation: IncarnationID
  ) async throws(RemoteError) -> (first: UInt64, lacksEntry: Bool) {
    do throws(RemoteError) {
      guard let floor = try await floor(of: incarnation) else { return (1, false) }
      return (floor.offset, !floor.hasEntry)
    } catch {
      guard error.isAboutOneObject else { throw error }
      if try await objects.exists(.entry(of: incarnation, 1)) { return (1, false) }
      guard let first = try await objects.nextEntry(after: .entry(of: incarnation, 1))?.offset else {
        throw RemoteError(
          .expired, "the log was trimmed, and nothing of it is there any more; \(error.message)",
          hint: error.hint)
      }
      return (first, false)
    }
  }

  /// Whether a log begins after a token: a snapshot stands for the token's entry too, which need not be there.
  func begins(after token: ChangeToken) async throws(RemoteError) -> Bool {
    guard let floor = try await floor(of: token.incarnation) else { return false }
    return !floor.hasEntry && floor.offset == token.offset && floor.hash == token.hash
      && token.chain.map { $0 == floor.chain } ?? true
  }

  /// Raises the floor of a log.
  ///
  /// - Parameter wrong: a floor that does not count, however high it is; nil for none.
  /// - Returns: the floor that it has now, which another may have raised higher.
  func raise(to floor: LogFloor, insteadOf wrong: LogFloor? = nil) async throws(RemoteError) -> LogFloor {
    while true {
      let last = try await last(of: floor.incarnation)
      if last > 0 {
        do throws(RemoteError) {
          let known = try await read(last, of: floor.incarnation)
          if known != wrong, known.offset >= floor.offset { return known }
        } catch {
          // The next one takes its place.
          guard error.isAboutOneObject else { throw error }
        }
      }
      let name = ObjectName.floor(last + 1, of: floor.incarnation)
      if try await objects.putIfAbsent(name, floor.encode()) { return floor }
      guard try await objects.exists(name) else { throw .notShown(name) }
    }
  }

  /// Removes the floors of a log that was discarded: nothing is there that could begin. From the last one on: the others stay
  /// dense.
  ///
  /// - Parameter last: the number of the last one, before the log was opened again.
  func removeAll(of incarnation: IncarnationID, through last: UInt64) async throws(RemoteError) {
    var number = last
    while number > 0 {
      try await objects.delete(.floor(number, of: incarnation))
      number -= 1
    }
  }

  /// The number of the last floor; 0 if there is none.
  func last(of incarnation: IncarnationID) async throws(RemoteError) -> UInt64 {
    do throws(RemoteError) {
      return try await objects.lastNumber { .floor($0, of: incarnation) }
    } catch {
      // Something else is in the place of a directory: that shows where the log is read.
      guard error.code == .damaged else { throw error }
      return 0
    }
  }

  func read(_ number: UInt64, of incarnation: IncarnationID) async throws(RemoteError) -> LogFloor {
    let name = ObjectName.floor(number, of: incarnation)
    do throws(RemoteError) {
      guard let bytes = try await objects.get(name, bytesMax: LogFloor.bytesMax) else {
        throw .notShown(name)
      }
      do throws(FormatError) {
        let floor = try LogFloor.read(bytes.span.bytes)
        if floor.incarnation == incarnation { return floor }
      } catch {
        throw .damaged(.damaged, name, error)
      }
      throw .unreadable(name)
    } catch {
      guard error.code == .damaged else { throw error }
      throw RemoteError(
        .damagedSegment, "\(name), which says where the log begins, cannot be read",
        hint: "restore it from a backup, or run `replay trim REMOTE --write`, which writes it again",
        offset: 1)
    }
  }
}

extension LogFloor {
  /// The snapshot with which the log begins.
  func snapshot(of zone: ZoneID) -> RemoteSnapshot {
    RemoteSnapshot(of: zone, incarnation, at: offset, by: maker)
  }
}
