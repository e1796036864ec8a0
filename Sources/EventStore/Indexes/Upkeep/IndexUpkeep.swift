import LMDB
import OperationFormat

/// Keeps the indexes of a store in a write transaction: it looks at a record before it changes, and again before others
/// may read it or the transaction is committed, and writes what differs.
final class IndexUpkeep: RecordUpkeep {
  private unowned let storage: TableStorage
  private var indexes: [StoredIndex]
  /// Which of them have records of a type.
  private var byType: [NameNumber: [Int]] = [:]
  private var fields: Set<NameNumber> = []

  /// What changing records had in the indexes before, by the keys of their rows.
  private var before: [[UInt8]: [Found]] = [:]
  private var lastKey: [UInt8] = []
  /// The parts of indexes that have references since the last writing.
  private var referenceParts: [Int: UInt8] = [:]
  private var maker = IndexedRecord()
  /// What the records of a state are read by.
  private var views: [StateNumber: ReadView] = [:]

  /// An entry, and the index that has it.
  private struct Found: Equatable {
    let index: Int
    let entry: IndexEntry
  }

  /// After so many records it is time to write.
  private static let recordsMax = 4096

  init(_ storage: TableStorage, _ indexes: [StoredIndex]) throws {
    self.storage = storage
    self.indexes = indexes
    for (place, index) in indexes.enumerated() where index.status != .removed {
      for type in index.definition.types {
        if let number = try storage.names.number(of: type) { byType[number, default: []].append(place) }
      }
      for name in index.definition.fieldNames {
        if let number = try storage.names.number(of: name) { fields.insert(number) }
      }
    }
  }

  func has(_ field: NameNumber) -> Bool { fields.contains(field) }

  var isFull: Bool { before.count >= Self.recordsMax }

  func willChange(_ key: RawSpan, type: NameNumber?) throws {
    if equalBytes(lastKey.span.bytes, key) { return }
    let bytes = key.bytes
    if before[bytes] == nil {
      let found = try entries(key)
      // A record of another type is of no interest, unless it gets one that is.
      if found == nil, type.map({ byType[$0] == nil }) ?? false { return }
      before[bytes] = found ?? []
    }
    lastKey = bytes
  }

  func flush() throws {
    dropViews()
    guard !before.isEmpty else { return }
    var changed = before
    before.removeAll(keepingCapacity: true)
    lastKey.removeAll(keepingCapacity: true)
    // In the order of records, so that entries of one place come together.
    for key in changed.count > 1
      ? changed.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) : Array(changed.keys)
    {
      let old = changed.removeValue(forKey: key) ?? []
      let new = try entries(key.span.bytes) ?? []
      if old != new { try write(old, new) }
    }
    dropViews()
    // Last: what keeps the indexes is made again then.
    for (place, parts) in referenceParts where parts & ~indexes[place].referenceParts != 0 {
      indexes[place].referenceParts |= parts
      try storage.indexes.put(indexes[place])
    }
    referenceParts.removeAll()
  }

  func dropViews() { views.removeAll(keepingCapacity: true) }

  private func write(_ old: [Found], _ new: [Found]) throws {
    // Most records have few.
    let kept = new.count > 8 ? Set(new.map(\.entry.key)) : []
    for found in old {
      let isKept =
        new.count > 8 ? kept.contains(found.entry.key) : new.contains { $0.entry.key == found.entry.key }
      if isKept { continue }
      let key = found.entry.key.span.bytes
      try storage.indexes.delete(key)
      if indexes[found.index].status == .building { try storage.indexes.putChanged(key) }
    }
    let known = old.count > 8 ? Set(old.map(\.entry)) : []
    for found in new {
      let isKnown = old.count > 8 ? known.contains(found.entry) : old.contains(found)
      if isKnown { continue }
      try storage.indexes.put(found.entry.row.span.bytes, found.entry.key.span.bytes)
    }
  }

  /// What a record has in the indexes, by the key of its row; nil if none is of its type, or it is not there.
  private func entries(_ key: RawSpan) throws -> [Found]? {
    let state = StateNumber(rawValue: try key.bigEndian32(at: 0))
    let view = try view(of: state)
    let zone = try view.show(state)
    return try storage.transaction.withValue(of: key, in: storage.tables.records) { row -> [Found]? in
      let row = StoredRow(row)
      guard let type = try view.alive(row, state)?.type, let places = byType[type] else { return nil }
      return try view.withRow(row, ofFields: fields, state) { row in
        guard let record = try RecordView(row, name: key.extracting(4...), zone: zone, state, view) else {
          return nil
        }
        let flags = try view.flags(inIndexesOf: row, state)
        var found: [Found] = []
        for place in places {
          try maker.forEachEntry(of: record, in: indexes[place], state, flags, RecordReader(view)) {
            key, row in
            found.append(Found(index: place, entry: IndexEntry(key: key.bytes, row: row.bytes)))
          }
          if maker.referenceParts != 0 { referenceParts[place, default: 0] |= maker.referenceParts }
        }
        return found
      }
    } ?? nil
  }

  private func view(of state: StateNumber) throws -> ReadView {
    if let view = views[state] { return view }
    let view = ReadView(
      storage.transaction.alias(), tables: storage.tables, interned: storage.interned, showsAll: true)
    views[state] = view
    return view
  }
}
