internal import OperationFormat

/// Where logs begin. The floors of a log are a list of their own, dense from 1: each is written once, and above
/// the one before.
///
/// A floor is written before the entries that it takes away are removed, from the first on. So a reader that
/// misses an entry learns whether the remote has lost it, or snapshots stand for it.
struct LogFloors: Sendable {
  let objects: any ObjectStore

  /// The floor of a log; nil if it begins with its first entry.
  func floor(of incarnation: IncarnationID) async throws(RemoteError) -> LogFloor? {
    do throws(RemoteError) {
      return try await last(of: incarnation).floor
    } catch {
      // Something else is in the place of the log, or of its floors: that shows where the log is read.
      guard error.code == .damaged || error.isAboutOneObject else { throw error }
      return nil
    }
  }

  /// Raises the floor of a log.
  ///
  /// - Returns: the floor that it has now, which another may have raised higher.
  func raise(to floor: LogFloor) async throws(RemoteError) -> LogFloor {
    while true {
      let (number, known) = try await last(of: floor.incarnation)
      if let known, known.offset >= floor.offset { return known }
      let name = ObjectName.floor(number + 1, of: floor.incarnation)
      if try await objects.putIfAbsent(name, floor.encode()) { return floor }
    }
  }

  /// The last floor that can be read, and the number of the last that is there.
  private func last(of incarnation: IncarnationID) async throws(RemoteError) -> (
    number: UInt64, floor: LogFloor?
  ) {
    let last = try await objects.lastNumber { .floor($0, of: incarnation) }
    var number = last
    while number > 0 {
      if let found = try await read(number, of: incarnation) { return (last, found) }
      number -= 1
    }
    return (last, nil)
  }

  /// Nil if it cannot be read.
  private func read(_ number: UInt64, of incarnation: IncarnationID) async throws(RemoteError) -> LogFloor? {
    let name = ObjectName.floor(number, of: incarnation)
    do throws(RemoteError) {
      guard let bytes = try await objects.get(name, bytesMax: LogFloor.bytesMax) else { return nil }
      do throws(FormatError) {
        let floor = try LogFloor.read(bytes.span.bytes)
        return floor.incarnation == incarnation ? floor : nil
      } catch {
        throw .damaged(.damaged, name, error)
      }
    } catch {
      guard error.code == .damaged || error.isAboutOneObject else { throw error }
      return nil
    }
  }
}
