internal import OperationFormat
internal import Synchronization

/// What is known of the list of zones of one remote, as far as any call has read it. The calls of a process
/// share it, and add to it in place: the cost of an event does not grow with the list.
final class KnownZones: Sendable {
  /// The remote that has the list.
  let remote: RemoteID
  private let list: Mutex<ZoneList>
  private let forgotten = Mutex(false)

  init(of remote: RemoteID) {
    self.remote = remote
    list = Mutex(ZoneList(of: remote))
  }

  /// Whether the remote's list differs from it: then it is never cached again.
  var isForgotten: Bool {
    get { forgotten.withLock { $0 } }
    set { forgotten.withLock { $0 = newValue } }
  }

  /// Reads the list. Another call may change it between two reads: read what belongs together in one.
  func read<Result: Sendable>(
    _ body: (borrowing ZoneList) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    try list.withLock { (list) throws(RemoteError) in try body(list) }
  }

  /// What the list says of a log.
  func log(_ incarnation: IncarnationID) -> ZoneLogs.Log? { list.withLock { $0.log(incarnation) } }

  /// The offset up to which the list was read.
  var offset: UInt64 { list.withLock { $0.offset } }

  /// The offsets of the events that cannot be read, in order.
  var unreadable: [UInt64] { list.withLock { $0.unreadable } }

  /// Whether the event of an offset is known as one that cannot be read.
  func isUnreadable(_ offset: UInt64) -> Bool { list.withLock { $0.problems[offset] != nil } }

  /// Adds what was found at the offset after the last, unless another call has added it.
  ///
  /// - Throws: ``RemoteError``, as ``ZoneList/add(_:)``.
  func add(_ found: FoundZoneEvent, at offset: UInt64) throws(RemoteError) {
    try list.withLock { (list) throws(RemoteError) in
      if offset == list.offset + 1 { try list.add(found) }
    }
  }

  /// Takes what was found since at the offset of an event that could not be read.
  ///
  /// - Returns: false if the list is to be read again from its start.
  func mend(at offset: UInt64, _ found: FoundZoneEvent) -> Bool {
    list.withLock { $0.mend(at: offset, found) }
  }
}
