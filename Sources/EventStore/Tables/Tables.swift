import LMDB
import OperationFormat

/// The tables of a store. None has duplicate keys. Numbers in keys are big-endian, so that keys sort by them.
///
/// | table | key | value |
/// |---|---|---|
/// | log | position (8) | a transaction: `LogEntryCodec`; several: `LogRun`; removed ones: `removedRun` |
/// | sequences | zone (4), replica (4), epoch (4), sequence (8) | position of one or several: `SequenceRun` |
/// | segments | zone (4), incarnation (4), offset (8) | `SegmentRow` |
/// | placements | zone (4), incarnation (4), replica (4), epoch (4), last sequence (8) | first sequence, offset |
/// | records | state (4), record's name | `RecordRow` |
/// | elements | `ElementKey` | heads with their payloads, elements, parts of large rows: see there |
/// | runs | `RunKeys` | the units of lists and texts |
/// | references | `ReferenceKey` | which record refers to which, by the values that are shown |
/// | indexes | `IndexEntry` | which records an index has; under state 0 `StoredIndex` |
/// | zones | 0, number (4) | identity |
/// | zones | 1, owner's byte count (1), owner, name | number |
/// | zones | 2, number (4) | `ZoneRow` |
/// | zones | 3, number (4) | `CutRow` |
/// | replicas | 0, number (4) · 1, identity (16) | identity · number |
/// | replicas | from 2 on: `LaneKeys.swift` | what is kept of lanes |
/// | incarnations | 0, number (4) · 1, identity (16) | identity · number |
/// | incarnations | 2, number (4) | `GoneLog`: a deleted log of a zone |
/// | incarnations | 3, zone (4) | number of the proposed incarnation |
/// | names | 0, number (4) · 1, UTF-8 | UTF-8 · number |
/// | states | state (4) | `StateRow` |
/// | assets | see `AssetTable.swift` | |
/// | meta | name: `MetaName` | format, identity, clock, policies, remote, rebuild |
struct Tables: Sendable {
  let log: Table
  let sequences: Table
  let segments: Table
  let placements: Table
  let records: Table
  let elements: Table
  let runs: Table
  let references: Table
  let zones: Table
  let replicas: Table
  let incarnations: Table
  let names: Table
  let states: Table
  let assets: Table
  let meta: Table
  /// Nil in a store of a former version that is open for reading alone.
  let indexes: Table?
  /// What the rows of indexes say.
  let readIndexes = ReadIndexes()

  /// Their names in the order of the properties, for counts and sizes.
  static let names = [
    "log", "sequences", "segments", "placements", "records", "elements", "runs", "references", "zones",
    "replicas", "incarnations", "names", "states", "assets", "meta", "indexes",
  ]

  /// - Parameter keepingVersions: whether the tables that a fold writes keep versions.
  init(
    in transaction: borrowing LMDBTransaction, create: Bool, keepingVersions: Bool = false
  ) throws(LMDBError) {
    func openFolded(_ name: String) throws(LMDBError) -> Table {
      keepingVersions
        ? try transaction.openTable(keepingVersions: name, create: create)
        : try transaction.openTable(name, create: create)
    }
    log = try transaction.openTable("log", create: create)
    sequences = try transaction.openTable("sequences", create: create)
    segments = try transaction.openTable("segments", create: create)
    placements = try transaction.openTable("placements", create: create)
    records = try openFolded("records")
    elements = try openFolded("elements")
    runs = try openFolded("runs")
    references = try openFolded("references")
    zones = try transaction.openTable("zones", create: create)
    replicas = try transaction.openTable("replicas", create: create)
    incarnations = try transaction.openTable("incarnations", create: create)
    names = try transaction.openTable("names", create: create)
    states = try openFolded("states")
    assets = try transaction.openTable("assets", create: create)
    meta = try transaction.openTable("meta", create: create)
    do throws(LMDBError) {
      indexes = try openFolded("indexes")
    } catch {
      guard error.code == .notFound else { throw error }
      indexes = nil
    }
  }

  /// The tables with their names.
  var all: [(name: String, table: Table)] {
    Array(
      zip(
        Self.names,
        [
          log, sequences, segments, placements, records, elements, runs, references, zones, replicas,
          incarnations, names, states, assets, meta,
        ] + (indexes.map { [$0] } ?? [])))
  }
}

/// Keys of the tables of the log, of zones and of the store itself.
extension TableKey {
  static func log(_ position: Position) -> TableKey {
    var key = TableKey()
    key.append(position.rawValue)
    return key
  }

  static func sequence(
    _ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64
  ) -> TableKey {
    var key = TableKey()
    key.append(zone)
    key.append(replica)
    key.append(epoch)
    key.append(sequence)
    return key
  }

  static func segment(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ offset: UInt64
  ) -> TableKey {
    segments(of: zone, incarnation).appending(offset)
  }

  /// The key prefix of the entries of an incarnation of a zone's log.
  static func segments(of zone: ZoneNumber, _ incarnation: IncarnationNumber) -> TableKey {
    var key = TableKey()
    key.append(zone)
    key.append(incarnation)
    return key
  }

  static func placement(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ replica: ReplicaNumber, _ epoch: UInt32,
    last: UInt64
  ) -> TableKey {
    var key = TableKey()
    key.append(zone)
    key.append(incarnation)
    key.append(replica)
    key.append(epoch)
    key.append(last)
    return key
  }

  static func lineage(_ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32) -> TableKey {
    rows(.lineages, of: zone).appending(replica, epoch)
  }

  static func zoneRow(_ zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(UInt8(2))
    key.append(zone)
    return key
  }

  static func goneIncarnation(_ incarnation: IncarnationNumber) -> TableKey {
    var key = TableKey()
    key.append(UInt8(2))
    key.append(incarnation)
    return key
  }

  static func proposedIncarnation(_ zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(UInt8(3))
    key.append(zone)
    return key
  }

  static func cut(_ zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(UInt8(3))
    key.append(zone)
    return key
  }

  static func meta(_ name: MetaName) -> TableKey {
    var key = TableKey()
    for byte in name.rawValue.utf8 { key.append(byte) }
    return key
  }
}

/// The rows of the meta table.
enum MetaName: String {
  /// Version of the store's format, a varint.
  case format
  /// This store's replica (16 bytes) and epoch (varint).
  case identity
  /// The replicas that this store was before it was a copy, or was put back from a backup, the last one first: 16 bytes
  /// each, at most ``MetaTable/formersMax``.
  case formers
  /// The last timestamp that the clock gave out or saw, 8 bytes, little-endian.
  case clock
  /// Existence policies other than `latest`: for each, the number of the type's name (varint) and the policy
  /// (1 byte).
  case policies
  /// The fields that apps have declared: version (1 byte), a map of types, checksum.
  case kinds
  /// Identity of the store whose log was imported.
  case imported
  /// 1 (1 byte) while an import is unfinished: such a store cannot be opened.
  case importing
  /// How far the remote's list of zones was read: remote (16 bytes), offset (varint), hash (32).
  case remote
  /// How far an unfinished rebuild has folded: position, and the last kind of operation that it knows
  /// (varints).
  case rebuild
  /// The kinds of operations that the log has and no version has folded: varints, ascending.
  case unfolded
  /// The last number that a state got, a varint. Absent in stores of an earlier version.
  case states
  /// How many commits did more than to append local transactions, a varint: what such a commit changes, its entries
  /// of the log do not tell.
  case others
  /// How often an entry of the log was removed, or a transaction that was folded got another time or place, a varint:
  /// what was folded of the log before may be another now. Absent for 0.
  case rewrites
}
