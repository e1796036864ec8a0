import OperationFormat

/// What a write transaction has changed, or may have. It is kept while somebody observes the commits.
final class ChangeNotes {
  /// Of so many records of a commit each is noted; of more, only their zones.
  static let recordsMax = 4096
  private static let indexKeysMax = 4 * recordsMax

  /// The changes of a transaction, or of one nested in it.
  struct Level {
    var records: [RecordKey: NotedFields] = [:]
    /// The states of which more records changed than are noted.
    var states: Set<StateNumber> = []
    /// Whether what all records show may be another: the rule of a type's existence has changed.
    var isOfAll = false
    /// Whether the remote has got something, or took something back.
    var hasPlacements = false
    /// What the rows of zones were before.
    var zones: [ZoneNumber: ZoneRow?] = [:]
    var assets: Set<ContentHash> = []
    /// Those that made the transactions that were appended.
    var replicas: Set<ReplicaNumber> = []
    /// The keys of indexes that came or went, or have something else now; nil if they are too many.
    var indexKeys: Set<[UInt8]>? = []
  }

  enum NotedFields {
    case some(Set<NameNumber>)
    case all

    func joined(with other: NotedFields) -> NotedFields {
      guard case .some(let fields) = self, case .some(let more) = other else { return .all }
      return more.isSubset(of: fields) ? self : .some(fields.union(more))
    }
  }

  /// The key of a record's row: its state and its name.
  struct RecordKey: Hashable {
    let bytes: [UInt8]

    var state: StateNumber { StateNumber(ofKey: bytes) }

    var name: Name { Name(String(decoding: bytes.dropFirst(4), as: UTF8.self)) }
  }

  // Accesses never overlap, so none is checked.
  @exclusivity(unchecked) private(set) var outer = Level()
  @exclusivity(unchecked) private var inner: Level?

  private var level: Level {
    @inline(__always) _read { if inner != nil { yield inner! } else { yield outer } }
    @inline(__always) _modify { if inner != nil { yield &inner! } else { yield &outer } }
  }

  // MARK: The transaction

  func begin() { (outer, inner) = (Level(), nil) }

  func beginNested() { inner = Level() }

  func abortNested() { inner = nil }

  func commitNested() {
    guard let nested = inner else { return }
    inner = nil
    for (key, fields) in nested.records { add(fields, key) }
    outer.states.formUnion(nested.states)
    outer.zones.merge(nested.zones) { first, _ in first }
    outer.isOfAll = outer.isOfAll || nested.isOfAll
    outer.hasPlacements = outer.hasPlacements || nested.hasPlacements
    outer.assets.formUnion(nested.assets)
    outer.replicas.formUnion(nested.replicas)
    for key in nested.indexKeys ?? [] { note(indexKey: key.span.bytes) }
    if nested.indexKeys == nil { outer.indexKeys = nil }
  }

  // MARK: Noting

  /// Notes that a field of a record may change, or all of it.
  ///
  /// - Parameter key: that of the record's row.
  func note(_ key: RawSpan, field: NameNumber?) {
    add(field.map { .some([$0]) } ?? .all, RecordKey(bytes: key.bytes))
  }

  private func add(_ fields: NotedFields, _ key: RecordKey) {
    if let known = level.records[key] {
      level.records[key] = known.joined(with: fields)
    } else if level.states.contains(key.state) {
    } else if level.records.count >= Self.recordsMax {
      level.states.formUnion(level.records.keys.map(\.state))
      level.states.insert(key.state)
      level.records.removeAll()
    } else {
      level.records[key] = fields
    }
  }

  /// Notes that any record may show something else.
  func noteAll() { level.isOfAll = true }

  /// Notes that other transactions than before may be pending.
  func notePlacements() { level.hasPlacements = true }

  /// Notes that a zone's row changes.
  func note(_ zone: ZoneNumber, was row: ZoneRow?) {
    if level.zones[zone] == nil { level.zones[zone] = .some(row) }
  }

  /// Notes that an entry of an index comes, goes or changes.
  func note(indexKey key: RawSpan) {
    guard let count = level.indexKeys?.count else { return }
    if count < Self.indexKeysMax { level.indexKeys!.insert(key.bytes) } else { level.indexKeys = nil }
  }

  /// Notes that a transaction of a replica was appended.
  func note(_ replica: ReplicaNumber) { level.replicas.insert(replica) }

  /// Notes that the bytes of an asset are here.
  func note(_ asset: ContentHash) { level.assets.insert(asset) }
}
