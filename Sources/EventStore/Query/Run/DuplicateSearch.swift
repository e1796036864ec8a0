import LMDB
import OperationFormat

/// Finds the records that have the same values in an index.
struct DuplicateSearch: ~Escapable {
  private let reader: RecordReader

  @_lifetime(copy reader)
  init(_ reader: RecordReader) { self.reader = reader }

  func groups(in name: Name) throws -> [[RecordID]] {
    let view = reader.view
    guard
      let index = try view.knownIndexes().first(where: { $0.definition.name == name && $0.status == .built })
    else {
      throw StoreError(
        .definitionInvalid, "the store has no index “\(name)” that is built",
        hint: "declare it, and wait until it is built")
    }
    return try groups(in: index, zones: view.visibleZones()) ?? []
  }

  /// - Parameter max: how many entries to read.
  /// - Returns: nil if there are more.
  func groups(in index: StoredIndex, zones: [ZoneID], max: Int = .max) throws -> [[RecordID]]? {
    let view = reader.view
    let hasSeveral = index.definition.parts.contains(where: \.makesSeveral)
    var count = 0
    var groups: [[RecordID]] = []
    for zone in zones {
      var (key, met, known): ([UInt8], [RecordID], Set<RecordID>) = ([], [], [])
      let prefix = IndexEntry.prefix(try view.state(of: zone), index.number)
      view.footprint?.note(from: prefix, to: prefix.successor)
      try view.transaction.forEachEntry(in: view.tables.indexes!, under: prefix) { bytes, row in
        count += 1
        if count > max { return false }
        let entry = try IndexEntryView(bytes, row)
        if !equalBytes(entry.group, key.span.bytes) {
          groups += try same(met, in: index)
          met.removeAll()
          known.removeAll()
          key = entry.group.bytes
        }
        // Of several values of a record, those that are cut are not compared again.
        let isUnclear = entry.flags.contains(.isOverfull) || hasSeveral && entry.flags.contains(.isCut)
        let record = RecordID(zone: zone, name: try Name(utf8: entry.name))
        // One record may have two entries: those of two fields that have the same.
        if !isUnclear, !hasSeveral || known.insert(record).inserted { met.append(record) }
        return true
      }
      if count > max { return nil }
      groups += try same(met, in: index)
    }
    return groups
  }

  /// The records that have the same values in an index as one has, with it; none if there are no others.
  ///
  /// - Complexity: O(log n) in the entries, and linear in the records that are found.
  func group(of id: RecordID, in index: StoredIndex) throws -> [RecordID] {
    let fields = index.valueFields
    guard fields.count == index.definition.parts.count, let values = try values(of: id, in: index) else {
      return []
    }
    let query = RecordQuery(
      types: index.definition.types, zones: [id.zone],
      condition: .all(zip(fields, values).map { .compare($0, .equal, $1) }))
    let found = try QueryRun(query, reader, isOrdered: false).records()
    return found.count > 1 ? found : []
  }

  /// What a record has in the parts of an index that have one value; nil if one of them has none, or but its
  /// default: many records without a value are no duplicates.
  private func values(of id: RecordID, in index: StoredIndex) throws -> [Value]? {
    try reader.withRecord(id) { record in
      guard try index.definition.types.contains(record.type) else { return nil }
      var values: [Value] = []
      for field in index.valueFields {
        let value = try record.value(of: field, reader)
        if value == .null || value == (field.isFolded ? field.fallback.folded : field.fallback) { return nil }
        values.append(value)
      }
      return values
    } ?? nil
  }

  /// The groups of some records, whose entries are the same, that have the same values. They may be cut in
  /// the entries.
  private func same(_ records: [RecordID], in index: StoredIndex) throws -> [[RecordID]] {
    if records.count < 2 { return [] }
    var groups: [[Value]: [RecordID]] = [:]
    for record in records {
      guard let values = try values(of: record, in: index) else { continue }
      groups[values, default: []].append(record)
    }
    return groups.values.filter { $0.count > 1 }.sorted { $0[0] < $1[0] }
  }
}

extension StoredIndex {
  /// The fields of the parts that have one value for a record.
  fileprivate var valueFields: [QueryField] {
    definition.parts.filter { !$0.makesSeveral }.map(\.queryField)
  }
}
