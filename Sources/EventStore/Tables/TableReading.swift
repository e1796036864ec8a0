import LMDB
import OperationFormat

typealias LMDBTransaction = LMDB.Transaction

/// A transaction on the tables of a store, with the cached numbers of identities: a write, or a read.
///
/// Lookups that reads and writes share are methods of its views: ``lanes``, ``zones``, ``segments`` and so
/// on. A view is one reference, so it costs nothing.
protocol TableReading: AnyObject {
  var tables: Tables { get }
  var interned: Interned { get }
  var transaction: LMDBTransaction { get }
  var logCache: LogCache { get }

  /// Notes that the log is read: any commit may change what is found.
  func noteLogRead()

  /// Whether any transaction of a zone has a limit: see ``BaseLimits``.
  func hasLimits(_ zone: ZoneNumber) throws -> Bool

  /// A zone's row, nil if it has none. A write has rows that are not written yet.
  func zoneRowIfThere(_ zone: ZoneNumber) throws -> ZoneRow?
}

extension TableReading {
  func noteLogRead() {}

  @inline(__always) var zones: ZoneTable<Self> { ZoneTable(source: self) }
  @inline(__always) var lanes: LaneTable<Self> { LaneTable(source: self) }
  @inline(__always) var segments: SegmentTable<Self> { SegmentTable(source: self) }
  @inline(__always) var placements: PlacementTable<Self> { PlacementTable(source: self) }
  @inline(__always) var baseLimits: BaseLimits<Self> { BaseLimits(source: self) }
  @inline(__always) var formerTimes: FormerReceiveTimes<Self> { FormerReceiveTimes(source: self) }
  @inline(__always) var zoneEvents: ZoneEventTable<Self> { ZoneEventTable(source: self) }
  @inline(__always) var log: LogTable<Self> { LogTable(source: self) }
  @inline(__always) var rows: RowTable<Self> { RowTable(source: self) }
  @inline(__always) var states: StateTable<Self> { StateTable(source: self) }
  @inline(__always) var meta: MetaTable<Self> { MetaTable(source: self) }
  @inline(__always) var indexes: IndexTable<Self> { IndexTable(source: self) }

  @inline(__always) var zoneNumbers: NumberTable<Self, ZoneID> {
    NumberTable(source: self, interner: interned.zones, table: tables.zones)
  }
  @inline(__always) var replicas: NumberTable<Self, ReplicaID> {
    NumberTable(source: self, interner: interned.replicas, table: tables.replicas)
  }
  @inline(__always) var incarnations: NumberTable<Self, IncarnationID> {
    NumberTable(source: self, interner: interned.incarnations, table: tables.incarnations)
  }
  @inline(__always) var names: NumberTable<Self, Name> {
    NumberTable(source: self, interner: interned.names, table: tables.names)
  }
}

/// What a fold and a reader of cells need alike: see ``RowReading``.
extension TableReading {
  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID { try replicas.identity(of: number) }

  func forEachRun(under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void) throws {
    try rows.forEachRun(under: prefix, body)
  }
}

/// The rows of one kind, as a transaction reads and writes them: a view of it.
///
/// What reads stands in an extension of the view; what writes, in one where the source is ``TableStorage``.
protocol TableView {
  associatedtype Source: TableReading
  var source: Source { get }
}

extension TableView {
  @inline(__always) var tables: Tables { source.tables }
  @inline(__always) var interned: Interned { source.interned }
  @inline(__always) var transaction: LMDBTransaction { _read { yield source.transaction } }

  @inline(__always) var zones: ZoneTable<Source> { source.zones }
  @inline(__always) var lanes: LaneTable<Source> { source.lanes }
  @inline(__always) var segments: SegmentTable<Source> { source.segments }
  @inline(__always) var placements: PlacementTable<Source> { source.placements }
  @inline(__always) var baseLimits: BaseLimits<Source> { source.baseLimits }
  @inline(__always) var log: LogTable<Source> { source.log }
  @inline(__always) var states: StateTable<Source> { source.states }
  @inline(__always) var meta: MetaTable<Source> { source.meta }
  @inline(__always) var zoneNumbers: NumberTable<Source, ZoneID> { source.zoneNumbers }
  @inline(__always) var replicas: NumberTable<Source, ReplicaID> { source.replicas }
  @inline(__always) var incarnations: NumberTable<Source, IncarnationID> { source.incarnations }
}
