public import OperationFormat
public import Replicator

/// What a transaction changes: another that changes the same waits for it.
public enum IndexScope: Hashable, Sendable {
  /// The index itself.
  case index
  /// A log.
  case log(IncarnationID)
  /// An account's list of zones, and logs of the account.
  case list(String)
}

/// An index that has rows in a database. ``IndexRules`` says what its calls do.
public protocol IndexOfRows: LogIndex {
  associatedtype Rows: IndexRows

  /// Reads rows, all of them as they were at one time.
  func read<Result: Sendable>(
    _ body: @escaping @Sendable (inout IndexRules<Rows>) throws -> Result
  ) async throws(RemoteError) -> Result

  /// Reads and changes rows in one transaction. If the body throws, nothing is changed.
  func write<Result: Sendable>(
    _ scope: IndexScope, _ body: @escaping @Sendable (inout IndexRules<Rows>) throws -> Result
  ) async throws(RemoteError) -> Result
}

extension IndexOfRows {
  /// Sees to it that all servers on an index have the same place for objects: one with another would show logs whose snapshots
  /// are elsewhere. The first server makes it. From then on it must be there: a disk that is not mounted is no new place.
  ///
  /// - Throws: `RemoteError` `identityMismatch` if it is another; as `ObjectPlace`.
  public func bind(_ place: ObjectPlace) async throws(RemoteError) {
    let proposed = try await read { try $0.place() }
    let known = proposed.isMade ? proposed : try await write(.index) { try $0.propose(proposed) }
    if !known.isMade { try await place.make(known.identity) }
    let identity = try await place.identity()
    guard identity == known.identity else {
      throw RemoteError(
        .identityMismatch,
        "\(name) belongs to the objects \(known.identity), and \(place.name) is \(identity)",
        hint: "mount the right disk, or give the right place. If the index is new, give an empty place")
    }
    if !known.isMade { try await write(.index) { try $0.noteMade(known) } }
  }

  public func list(of account: String) async throws(RemoteError) -> IndexedList {
    if let known = try await read({ try $0.rows.list(of: account) }) { return IndexedList(known) }
    return try await write(.list(account)) { try IndexedList($0.list(of: account)) }
  }

  public func events(
    of account: String, after offset: UInt64, count: Int
  ) async throws(RemoteError) -> [[UInt8]] {
    guard try await list(of: account).events > offset else { return [] }
    return try await read { try $0.rows.events(of: account, after: offset, count: count) }
  }

  public func createZone(_ zone: IndexedZone) async throws(RemoteError) -> IncarnationID {
    try await write(.list(zone.account)) { try $0.createZone(zone) }
  }

  public func state(of zone: IndexedZone) async throws(RemoteError) -> IndexedState {
    try await read { try IndexedState($0.row(of: zone)) }
  }

  public func close(_ zone: IndexedZone, _ fate: ZoneFate) async throws(RemoteError) {
    try await write(.list(zone.account)) { try $0.close(zone, fate) }
  }

  public func reopen(_ zone: IndexedZone) async throws(RemoteError) {
    try await write(.list(zone.account)) { try $0.reopen(zone) }
  }

  public func append(
    _ segments: [PackedSegment], to zone: IndexedZone, after offset: UInt64
  ) async throws(RemoteError) -> [AppendOutcome] {
    try await write(.log(zone.log)) { try $0.append(segments, to: zone, after: offset) }
  }

  public func entries(
    of zone: IndexedZone, after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try await read { try $0.entries(of: zone, after: token, bytesMax: bytesMax) }
  }

  public func putBack(
    _ entry: StoredSegment, to zone: IndexedZone, after token: ChangeToken
  ) async throws(RemoteError) -> Bool {
    try await write(.log(zone.log)) { try $0.putBack(entry, to: zone, after: token) }
  }

  public func begin(_ zone: IndexedZone, with floor: IndexedFloor) async throws(RemoteError) -> Bool {
    try await write(.log(zone.log)) { try $0.begin(zone, with: floor) }
  }

  public func raise(_ zone: IndexedZone, to floor: IndexedFloor) async throws(RemoteError) -> UInt64 {
    try await write(.log(zone.log)) { try $0.raise(zone, to: floor) }
  }

  public func removeStep(of zone: IndexedZone) async throws(RemoteError) -> Bool {
    try await write(.log(zone.log)) { try $0.removeStep(of: zone) }
  }

  public func heads(of logs: [IncarnationID], for account: String) async throws(RemoteError) -> [ZoneHead] {
    try await read { try $0.heads(of: logs, for: account) }
  }

  /// Ends at once: nothing tells what others change.
  public func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }
}
