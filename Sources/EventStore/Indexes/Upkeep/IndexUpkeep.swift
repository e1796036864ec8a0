import LMDB
import OperationFormat

/// Keeps the indexes of a store in a write transaction: it looks at a record before it changes, and again
/// before others may read it or the transaction is committed, and writes what differs.
///
/// It looks at those indexes alone that have a field that changes.
final class IndexUpkeep: RecordUpkeep {
  private unowned let storage: TableStorage
  private let indexes: [PreparedIndex]
  /// Which of them have records of a type, and which have a field.
  private var byType: [NameNumber: [Int]] = [:]
  private var byField: [NameNumber: [Int]] = [:]
  private let fields: [NameNumber]
  private let all: [Int]

  // Accesses never overlap, so none is checked.
  @exclusivity(unchecked) private var changes: [RecordKey: Change] = [:]
  /// The change that was looked at last, and its fields.
  @exclusivity(unchecked) private var last: (key: [UInt8], places: [Int]) = ([], [])
  @exclusivity(unchecked) private var maker = IndexedRecord()
  /// What records are read by: those of the state that was read last.
  @exclusivity(unchecked) private var reading: (state: StateNumber, view: ReadView)?
  /// The zones of states: they stay what they are, and reading them for each commit would cost more than the rest.
  @exclusivity(unchecked) private var zones: [StateNumber: ZoneID] = [:]
  /// The parts of indexes that have references since the last writing.
  @exclusivity(unchecked) private var referenceParts: [Int: UInt8] = [:]

  /// The key of a record's row.
  private struct RecordKey: Hashable {
    let bytes: [UInt8]

    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
  }

  /// What a changing record had before.
  private struct Change {
    /// The indexes that were looked at.
    var places: [Int] = []
    var found: [Found] = []
  }

  /// An entry, and the index that has it.
  private struct Found: Equatable {
    let place: Int
    let entry: IndexEntry
  }

  /// How many bytes the changes have.
  @exclusivity(unchecked) private var foundBytes = 0

  /// After so many records, or bytes of entries, it is time to write.
  private static let (recordsMax, bytesMax) = (4096, 4 << 20)

  init(_ storage: TableStorage, _ indexes: [StoredIndex]) throws {
    self.storage = storage
    self.indexes = try indexes.filter { $0.status != .removed }.map { try PreparedIndex($0, storage) }
    for (place, index) in self.indexes.enumerated() {
      for type in index.types { byType[type, default: []].append(place) }
      for field in Set(index.fields) { byField[field, default: []].append(place) }
    }
    fields = Array(byField.keys)
    all = Array(self.indexes.indices)
  }

  func has(_ field: NameNumber) -> Bool { byField[field] != nil }

  var isEmpty: Bool { changes.isEmpty }

  var isFull: Bool { changes.count >= Self.recordsMax || foundBytes >= Self.bytesMax }

  func willChange(_ key: RawSpan, field: NameNumber?, type: NameNumber?) throws -> Int {
    let places = field.map { byField[$0] ?? [] } ?? all
    let isLast = equalBytes(last.key.span.bytes, key)
    if isLast, places.allSatisfy(last.places.contains) { return 0 }
    let bytes = isLast ? last.key : key.bytes
    var change = changes[RecordKey(bytes: bytes)] ?? Change()
    let others = places.filter { !change.places.contains($0) }
    let known = change.found.count
    if !others.isEmpty {
      let found = try entries(key, in: others)
      // A record of another type is of no interest, unless it gets one that is.
      if found == nil, change.places.isEmpty, type.map({ byType[$0] == nil }) ?? false { return 0 }
      change.places += others
      change.found += found ?? []
      for one in found ?? [] { foundBytes += one.entry.byteCount }
      changes[RecordKey(bytes: bytes)] = change
    }
    last = (bytes, change.places)
    return change.found.count - known
  }

  func flush() throws {
    dropViews()
    guard !changes.isEmpty else { return }
    let changed = changes.map { ($0.key.bytes, $0.value) }
    changes.removeAll(keepingCapacity: true)
    foundBytes = 0
    last = ([], [])
    // In the order of records: an outcome does not depend on how they are hashed.
    for (key, change) in changed.count > 1
      ? changed.sorted(by: { compareBytes($0.0.span.bytes, $1.0.span.bytes) < 0 }) : changed
    {
      let new = try entries(key.span.bytes, in: change.places) ?? []
      if change.found != new { try write(change.found, new) }
    }
    dropViews()
    // Last: what keeps the indexes is made again then.
    for (place, parts) in referenceParts where parts & ~indexes[place].stored.referenceParts != 0 {
      var index = indexes[place].stored
      index.referenceParts |= parts
      try storage.indexes.put(index)
    }
    referenceParts.removeAll()
  }

  func dropViews() { reading = nil }

  private func write(_ old: [Found], _ new: [Found]) throws {
    // Most records have few.
    let (manyOld, manyNew) = (old.count > 8, new.count > 8)
    let kept = manyNew ? Set(new.map { $0.entry.key.bytes }) : []
    for found in old {
      let isKept =
        manyNew
        ? kept.contains(found.entry.key.bytes) : new.contains { equalBytes($0.entry.key, found.entry.key) }
      if isKept { continue }
      storage.changeNotes?.note(indexKey: found.entry.key)
      try storage.indexes.delete(found.entry.key)
      if indexes[found.place].stored.status == .building { try storage.indexes.putChanged(found.entry.key) }
    }
    let known = manyOld ? Set(old.map(\.entry)) : []
    for found in new {
      let isKnown = manyOld ? known.contains(found.entry) : old.contains(found)
      if isKnown { continue }
      storage.changeNotes?.note(indexKey: found.entry.key)
      try storage.indexes.put(found.entry.row, found.entry.key)
    }
  }

  /// What a record has in some indexes, by the key of its row; nil if none is of its type, or it is not
  /// there.
  private func entries(_ key: RawSpan, in wanted: [Int]) throws -> [Found]? {
    let state = StateNumber(rawValue: try key.bigEndian32(at: 0))
    let view = view(of: state)
    return try storage.transaction.withValue(of: key, in: storage.tables.records) { row -> [Found]? in
      let row = StoredRow(row)
      guard let type = try view.alive(row, state)?.type, let places = byType[type] else { return nil }
      let zone = try show(state, in: view)
      return try view.withRow(row, ofFields: fields, state) { row in
        guard let record = try RecordView(row, name: key.extracting(4...), zone: zone, state, view) else {
          return nil
        }
        let flags = try view.flags(inIndexesOf: row, state)
        var found: [Found] = []
        for place in places where wanted.contains(place) {
          try maker.forEachEntry(of: record, in: indexes[place], state, flags, RecordReader(view)) {
            key, row in
            found.append(Found(place: place, entry: IndexEntry(key, row)))
          }
          if maker.referenceParts != 0 { referenceParts[place, default: 0] |= maker.referenceParts }
        }
        return found
      }
    } ?? nil
  }

  private func view(of state: StateNumber) -> ReadView {
    if let reading, reading.state == state { return reading.view }
    let view = ReadView(
      storage.transaction.alias(), tables: storage.tables, interned: storage.interned, showsAll: true)
    reading = (state, view)
    return view
  }

  /// Lets a view have the records of a state.
  ///
  /// - Returns: the index of their zone in it.
  private func show(_ state: StateNumber, in view: ReadView) throws -> Int {
    if let zone = zones[state] { return view.show(state, of: zone) }
    let zone = try view.zone(of: state)
    zones[state] = zone
    return view.show(state, of: zone)
  }
}
