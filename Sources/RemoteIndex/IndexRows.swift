public import OperationFormat
public import Replicator

/// What is kept of a log.
public struct LogRow: Hashable, Sendable {
  public var account: String
  public var zone: ZoneID
  /// The offset of the last entry; that of the floor's snapshot if there is none behind it.
  public var head: UInt64 = 0
  /// The chain there.
  public var chain: LogChain
  public var fate: ZoneFate?
  /// The offset that the end of the log takes while it is closed.
  public var seal: UInt64 = 0
  public var floor: IndexedFloor?

  public init(_ zone: IndexedZone) {
    (account, self.zone, chain) = (zone.account, zone.zone, .start(of: zone.log))
  }
}

/// An account's list of zones.
public struct ListRow: Hashable, Sendable {
  public var remote: RemoteID
  public var events: UInt64 = 0
  /// The hash of the last event.
  public var hash = ContentHash.zero

  public init(remote: RemoteID, events: UInt64 = 0, hash: ContentHash = .zero) {
    (self.remote, self.events, self.hash) = (remote, events, hash)
  }
}

/// An entry of a log: a segment, or a tombstone in the place of an end that was passed.
public struct EntryRow: Hashable, Sendable {
  public var receivedMilliseconds: UInt64?
  public var chain: LogChain?
  public var bytes: [UInt8]

  public init(receivedMilliseconds: UInt64?, chain: LogChain?, bytes: [UInt8]) {
    (self.receivedMilliseconds, self.chain, self.bytes) = (receivedMilliseconds, chain, bytes)
  }
}

/// The place in which are the snapshots and assets beside the logs of an index.
public struct PlaceRow: Hashable, Sendable {
  public var identity: RemoteID
  /// Whether it was made. From then on it must be there.
  public var isMade: Bool

  public init(identity: RemoteID, isMade: Bool) { (self.identity, self.isMade) = (identity, isMade) }
}

/// Rows of an index, within one transaction.
public protocol IndexRows {
  func place() throws -> PlaceRow?
  mutating func set(_ row: PlaceRow) throws

  func log(_ log: IncarnationID) throws -> LogRow?
  /// Those of some logs that there are.
  func logs(_ logs: [IncarnationID]) throws -> [IncarnationID: LogRow]
  mutating func set(_ row: LogRow, _ log: IncarnationID) throws

  /// The open log of an account's zone.
  func openLog(of zone: ZoneID, of account: String) throws -> IncarnationID?
  mutating func setOpenLog(_ log: IncarnationID?, of zone: ZoneID, of account: String) throws

  func list(of account: String) throws -> ListRow?
  mutating func set(_ row: ListRow, of account: String) throws
  /// Events of an account's list after an offset, in order; at most `count`.
  func events(of account: String, after offset: UInt64, count: Int) throws -> [[UInt8]]
  mutating func put(_ event: [UInt8], at offset: UInt64, of account: String) throws

  func entry(_ offset: UInt64, of log: IncarnationID) throws -> EntryRow?
  /// Passes the entries from an offset on, in order, each with what reads it, until the closure returns false.
  func forEachEntry(
    of log: IncarnationID, from offset: UInt64, _ body: (UInt64, _ read: () throws -> EntryRow) throws -> Bool
  ) throws
  mutating func put(_ entry: EntryRow, at offset: UInt64, of log: IncarnationID) throws
  mutating func removeEntry(_ offset: UInt64, of log: IncarnationID) throws

  /// The offset of the first segment of a lane whose last sequence is at least this.
  func offset(of lane: LaneName, endingAtOrAfter sequence: UInt64, in log: IncarnationID) throws -> UInt64?
  mutating func put(_ offset: UInt64, of lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID)
    throws
  mutating func remove(_ lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID) throws
}

extension IndexRows {
  public func logs(_ logs: [IncarnationID]) throws -> [IncarnationID: LogRow] {
    var found: [IncarnationID: LogRow] = [:]
    for log in logs { found[log] = try self.log(log) }
    return found
  }
}

/// A writer's lane in a log.
public struct LaneName: Hashable, Sendable {
  public var replica: ReplicaID
  public var epoch: UInt32

  public init(_ header: SegmentHeader) { (replica, epoch) = (header.replica, header.epoch) }
}
