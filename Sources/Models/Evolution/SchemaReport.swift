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
  /// Fields that no property reads, or not all of: what is of another kind than the property's. With the number of
  /// records that have them, by the type of record.
  public internal(set) var unread: [Name: [Name: Int]] = [:]

  /// How many of each list it names; the counts are of all.
  public static let namedMax = 1000
}

extension SchemaReport {
  mutating func add<M: Model>(_ model: M.Type, _ tx: borrowing ReadTransaction) throws {
    let schema = model.schema
    for zone in try tx.zones() {
      try tx.forEachRecord(in: zone, type: M.type) { record in
        recordCount += 1
        let kinds = try tx.reader.kinds(of: record.id)
        var left = Set(kinds.keys)
        for (_, field) in schema.properties {
          let definition = field.definition
          left.subtract(definition.names)
          let found = try field.check(record, kinds, tx)
          let place = Place(record: record.id, field: definition.name)
          if found.isUndecodable { Self.note(place, &undecodable, &undecodableCount) }
          if found.isChanged { Self.note(place, &changed, &changedCount) }
          left.formUnion(found.unread)
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
  ///
  /// - Parameter kinds: of which kinds the record's fields have something.
  fileprivate func check(
    _ record: Record, _ kinds: [Name: Set<FieldKind>], _ tx: borrowing ReadTransaction
  ) throws -> (isUndecodable: Bool, isChanged: Bool, unread: [Name]) {
    let definition = definition
    let former = definition.formerNames.contains { kinds[$0]?.contains(.register) ?? false }
    guard let register = self as? any RegisterField else {
      let others = definition.names.filter { name in
        var others = kinds[name, default: []].subtracting([definition.kind])
        if definition.formerNames.contains(name) { others.remove(.register) }
        return !others.isEmpty
      }
      guard let merging = self as? any MergingField else { return (false, false, others) }
      return (try merging.hasUndecodable(record.id, tx), former, others)
    }
    // Without a register it shows what is there of another kind.
    let others = definition.names.filter { kinds[$0, default: []].isStrictSuperset(of: [.register]) }
    let isOther = definition.names.contains { !(kinds[$0] ?? [.register]).contains(.register) }
    let shown = try definition.formerNames.isEmpty ? record : record.inNewNames([definition], in: tx)
    guard let value = shown[definition.name], value != .null else { return (false, isOther, others) }
    let stored = try register.stored(value, in: record.id.zone)
    let isMoved = former && record.fields[definition.name] != value
    return (stored == nil, isOther || isMoved || stored != nil && stored != value, others)
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
