import LMDB
import OperationFormat

/// Folds entries of the log again, into other states than the first time: for a rebuild, a verification, or
/// the past.
struct LogReplay {
  /// A step's transaction of LMDB ends at as many bytes of log, so that memory stays bounded and others get
  /// their turn.
  static let stepBytesMax = 8 << 20

  /// And at as many steps of work, one transaction more or less: others who write wait as long.
  static let stepWorkMax = 16_384

  let store: StoreTransaction
  private let incarnations: UInt32

  init(_ store: StoreTransaction) throws {
    self.store = store
    incarnations = try store.storage.incarnations.lastNumber()
  }

  /// Folds one entry, or what is left of it: see
  /// ``StoreTransaction/foldEntry(_:body:into:receivedMilliseconds:from:)``.
  @discardableResult
  func fold(
    _ header: LogEntryHeader, body: RawSpan, into state: StateNumber, from first: Int = 0,
    taking part: ((OperationKind, RawSpan) -> FoldedPart)? = nil
  ) throws -> Int? {
    // The snapshot that the zone begins with has it.
    if try store.storage.isRetired(header) { return nil }
    var received: UInt64?
    if incarnations > 0 {
      let storage = store.storage
      received = try storage.placements.leastReceived(
        of: header.replica, header.epoch, header.sequence, in: header.zone)
    }
    return try store.foldEntry(
      header, body: body, into: state, receivedMilliseconds: received, from: first, taking: part)
  }
}

/// Folding the log of a store into the tables of another environment.
extension LogReplay {
  /// Folds the entry at a position, and returns how many bytes its body has. Of a zone that is gone nothing is left
  /// to be seen.
  ///
  /// - Parameters:
  ///   - lanes: up to which sequences; nil for all.
  ///   - passes: which entries are folded now; nil if floors do not count.
  ///   - part: what of an operation is folded, by its kind and the name of its record; nil for all of all.
  @discardableResult
  func fold(
    _ source: borrowing ReadTransaction, at position: Position, through lanes: [Lane: UInt64]? = nil,
    in passes: FoldPasses? = nil, taking part: ((OperationKind, RawSpan) -> FoldedPart)? = nil
  ) throws -> Int {
    try source.readView.log.withEntryUnlessRemoved(at: position) { header, body in
      if let lanes, header.sequence > lanes[header.lane] ?? 0 { return 0 }
      if let passes, try !passes.take(header, at: position) { return 0 }
      let state = try store.storage.zoneRowIfThere(header.zone)?.state ?? .none
      if state != .none { try fold(header, body: body, into: state, taking: part) }
      return body.byteCount
    } ?? 0
  }

  /// The tables of a store that folding looks into, besides ``places(_:_:)``: identities and policies.
  static func identities(_ from: Tables, _ to: Tables) -> [(Table, Table)] {
    [
      (from.zones, to.zones), (from.replicas, to.replicas), (from.incarnations, to.incarnations),
      (from.names, to.names), (from.meta, to.meta),
    ]
  }

  /// Where transactions are in remote logs. These grow with the log, and only syncing changes them.
  static func places(_ from: Tables, _ to: Tables) -> [(Table, Table)] {
    [(from.segments, to.segments), (from.placements, to.placements)]
  }

  /// Copies a table into an empty one.
  ///
  /// - Parameter zone: only the rows whose keys begin with its number; nil for all.
  static func copy(
    _ from: Table, of source: borrowing ReadTransaction, to: Table, _ transaction: borrowing LMDBTransaction,
    only zone: ZoneNumber? = nil
  ) throws {
    let prefix = zone.map { TableKey.state(StateNumber(rawValue: $0.rawValue)) }
    var cursor = try source.transaction.openCursor(from)
    var isThere = if let prefix { try cursor.seek(atOrAfter: prefix.span) } else { try cursor.first() }
    while isThere {
      isThere = try cursor.withEntry { key, value in
        if let prefix, !key.hasPrefix(prefix.span.bytes) { return false }
        try transaction.put(value, for: key, in: to, .append)
        return true
      }
      if isThere { isThere = try cursor.next() }
    }
  }

  /// Puts the state of a zone that is empty.
  static func putEmptyState(
    _ state: StateNumber, of zone: ZoneNumber, in tables: Tables, _ transaction: borrowing LMDBTransaction
  ) throws {
    var writer = ByteWriter()
    StateRow(zone: zone, status: .live).append(to: &writer)
    try transaction.put(writer.span, for: TableKey.state(state).span, in: tables.states)
  }
}
