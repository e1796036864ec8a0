internal import OperationFormat
internal import Synchronization

/// The list of zones of one remote, as far as any call has read it. The calls of a process share it, and add
/// to it in place: the cost of an event does not grow with the list.
final class KnownZones: Sendable {
  /// The remote that has the list.
  let remote: RemoteID
  private let list: Mutex<ZoneList>

  init(of remote: RemoteID) {
    self.remote = remote
    list = Mutex(ZoneList(of: remote))
  }

  /// Reads the list. Another call may change it between two reads: read what belongs together in one.
  func read<Result: Sendable>(
    _ body: (borrowing ZoneList) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    try list.withLock { (list) throws(RemoteError) in try body(list) }
  }

  /// What the list says of a log.
  func log(_ incarnation: IncarnationID) -> ZoneList.Log? { list.withLock { $0.logs[incarnation] } }

  /// Adds what was found at the offset after the last, unless another call has added it.
  ///
  /// - Throws: ``RemoteError``, as ``ZoneList/add(_:_:)``.
  func add(_ found: ZoneList.Found, at offset: UInt64) throws(RemoteError) {
    try list.withLock { (list) throws(RemoteError) in
      if offset == list.offset + 1 { try list.add(found, .zoneEvent(offset)) }
    }
  }

  /// Replaces an event of the list by what was found since.
  ///
  /// - Throws: ``RemoteError``, as ``ZoneList/add(_:_:)``.
  func replace(at offset: UInt64, _ found: ZoneList.Found) throws(RemoteError) {
    try list.withLock { (list) throws(RemoteError) in
      try list.replace(at: offset, found, .zoneEvent(offset))
    }
  }
}
