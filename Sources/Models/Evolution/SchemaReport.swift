public import OperationFormat

/// What a new schema would do: see ``Store/dryRun(_:_:)``.
public struct SchemaReport: Hashable, Sendable {
  /// A field of a record.
  public struct Place: Hashable, Sendable {
    public let record: RecordID
    public let field: Name
  }

  /// How many records were read.
  public internal(set) var recordCount = 0
  /// Fields with a value that does not decode: they show their default.
  public internal(set) var undecodable: [Place] = []
  public internal(set) var undecodableCount = 0
  /// Fields that show what is stored under a former name, of another kind, or as another value.
  public internal(set) var changed: [Place] = []
  public internal(set) var changedCount = 0
  /// Records that the migration would write to.
  public internal(set) var migrated: [RecordID] = []
  public internal(set) var migratedCount = 0
  /// Fields that no property reads, with the number of records that have them, by the type of record.
  public internal(set) var unread: [Name: [Name: Int]] = [:]

  /// How many of each list it names; the counts are of all.
  public static let namedMax = 1000
}

extension SchemaReport {
  mutating func add<M: Model>(_ model: M.Type, _ tx: borrowing ReadTransaction) throws {
    let schema = ModelSchema.of(model)
    for zone in try tx.zones() {
      try tx.forEachRecord(in: zone, type: M.type) { record in
        recordCount += 1
        var left = Set(try tx.fields(of: record.id))
        for (_, field) in schema.properties {
          let definition = field.definition
          left.subtract(definition.names)
          let found = try field.check(record, tx)
          let place = Place(record: record.id, field: definition.name)
          if found.isUndecodable { Self.note(place, &undecodable, &undecodableCount) }
          if found.isChanged { Self.note(place, &changed, &changedCount) }
        }
        for name in left { unread[M.type, default: [:]][name, default: 0] += 1 }
        return true
      }
    }
  }

  mutating func addMigrated(_ record: RecordID) { Self.note(record, &migrated, &migratedCount) }

  private static func note<T>(_ place: T, _ list: inout [T], _ count: inout Int) {
    count += 1
    if list.count < namedMax { list.append(place) }
  }
}

extension ModelField {
  /// What a field makes of what is stored in a record.
  func check(
    _ record: Record, _ tx: borrowing ReadTransaction
  ) throws -> (isUndecodable: Bool, isChanged: Bool) {
    let definition = definition
    let former = try definition.formerNames.contains { try tx.reader.register($0, of: record.id) != nil }
    guard let register = self as? any RegisterField else {
      guard let merging = self as? any MergingField else { return (false, false) }
      return (try merging.hasUndecodable(record.id, tx), former)
    }
    let shown = try definition.formerNames.isEmpty ? record : record.inNewNames([definition], in: tx)
    guard let value = shown[definition.name], value != .null else { return (false, false) }
    let stored = try register.stored(value, in: record.id.zone)
    return (
      stored == nil, former && record.fields[definition.name] != value || stored != nil && stored != value
    )
  }
}

extension MergingField {
  /// Whether an element does not decode.
  fileprivate func hasUndecodable(_ record: RecordID, _ tx: borrowing ReadTransaction) throws -> Bool {
    var elements: [Value] = []
    switch definition.kind {
    case .set: elements = Array(try tx.elements(of: name, in: record) ?? [])
    case .map: elements = (try tx.entries(of: name, in: record) ?? [:]).map(\.value)
    case .list: elements = try tx.list(name, of: record) ?? []
    case .register, .counter, .text, .contributions: break
    }
    return try elements.contains { try stored($0, in: record.zone) == nil }
  }
}
