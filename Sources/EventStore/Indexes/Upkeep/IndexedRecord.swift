import OperationFormat

/// Makes the entries that a record has in indexes, from its row.
///
/// They follow from the record's own row alone: it counts as there if any head of its existence says so, and
/// its references count also while their records are not there. A query looks closer where that matters.
struct IndexedRecord: ~Copyable {
  private var entry = EntryWriter()
  private var values = ByteWriter()

  /// The parts of the last entries that had references: see ``StoredIndex/referenceParts``.
  private(set) var referenceParts: UInt8 = 0

  init() {}

  /// Calls a closure with each entry of a record in an index, once. It must not write.
  ///
  /// - Parameters:
  ///   - flags: those of all entries of the record.
  ///   - reader: one of a view that shows all: see ``ReadView``.
  mutating func forEachEntry(
    of record: borrowing RecordView, in index: PreparedIndex, _ state: StateNumber, _ flags: IndexEntry.Flags,
    _ reader: RecordReader, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    let ordered = OrderedBytes(zone: record.zone)
    let name = try record.name.span.bytes
    referenceParts = 0
    var flags = flags
    // It is lent: it is read while the entry is written.
    var values = ByteWriter()
    swap(&values, &self.values)
    defer { swap(&values, &self.values) }
    values.removeAll()
    // Where the values of the part with several belong, and where the rest begins.
    var several: (place: Int, mask: UInt8, values: [Value])?
    var isEach = false
    for place in index.parts.indices {
      let part = index.parts[place]
      let start = values.count
      var found: [Value]?
      switch part.content {
      case .value(let field):
        if let cell = part.cell, let text = try record.plainText(of: cell) {
          ordered.append(text: text, to: &values)
          break
        }
        let value = try record.indexedValue(of: field, reader)
        if value.namesRecords { referenceParts |= 1 << UInt8(place) }
        ordered.append(value, to: &values)
      case .elements(let field):
        found = try record.indexedValues(of: field, reader, &flags)
      case .words(let field):
        found = try record.indexedWords(of: field, reader)
      case .eachOf(let fields):
        found = []
        for field in fields { found?.append(try record.value(of: field, reader)) }
        isEach = true
      }
      if part.makesSeveral {
        guard let found else {
          return try entry.write(
            index.stored.number, state, [IndexEntry.overfullByte].span.bytes, name, flags.union(.isOverfull),
            body)
        }
        if found.contains(where: \.namesRecords) { referenceParts |= 1 << UInt8(place) }
        several = (start, part.isDescending ? 255 : 0, found)
      }
      if part.isDescending { values.invert(from: start) }
    }
    guard let (start, mask, found) = several else {
      return try entry.write(index.stored.number, state, values.span, name, flags, body)
    }
    var whole = ByteWriter()
    for (place, value) in found.enumerated() {
      if isEach && value == .null { continue }
      whole.removeAll()
      whole.append(values.span.extracting(..<start))
      ordered.append(value, to: &whole)
      if mask != 0 { whole.invert(from: start) }
      whole.append(values.span.extracting(start...))
      try entry.write(
        index.stored.number, state, whole.span, name, flags, each: isEach ? place : 0, body)
    }
  }
}

/// Writes entries.
private struct EntryWriter: ~Copyable {
  private var key = ByteWriter()
  private var row = ByteWriter()

  mutating func write(
    _ index: IndexNumber, _ state: StateNumber, _ values: RawSpan, _ name: RawSpan, _ flags: IndexEntry.Flags,
    each: Int = 0, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    var flags = flags
    key.removeAll()
    IndexEntry.append(state, index, to: &key)
    if values.byteCount > IndexEntry.valueBytesMax {
      flags.insert(.isCut)
      key.append(values.extracting(..<IndexEntry.valueBytesMax))
    } else {
      key.append(values)
    }
    key.append(UInt8(each + 1))
    key.append(name)
    row.removeAll()
    row.append(UInt8(name.byteCount))
    if !flags.isEmpty { row.append(flags.rawValue) }
    try body(key.span, row.span)
  }
}

extension RecordView {
  /// The different words of a text; nil if they are too many, the text is too long to look for them at each
  /// change, or there is a reference in its place.
  fileprivate func indexedWords(of field: QueryField, _ reader: RecordReader) throws -> [Value]? {
    if case .field(let name, .text) = field.subject,
      try reader.count(of: name, in: id, as: .text) > IndexEntry.unitsMax
    {
      return nil
    }
    let value = try value(of: field, reader)
    // What it reads as depends on another record.
    if value.namesRecords { return nil }
    guard case .string(let text) = value else { return [] }
    // By their bytes: folding keeps some that are canonically equivalent apart.
    var words: Set<Value> = []
    FoldedText.forEachWord(of: text) { word in
      words.insert(.string(String(word)))
      return words.count <= IndexEntry.wordsMax
    }
    return words.count > IndexEntry.wordsMax ? nil : Array(words)
  }

  /// A field's value, or the beginning of a long text that fills an entry.
  fileprivate func indexedValue(of field: QueryField, _ reader: RecordReader) throws -> Value {
    let unitsMax = 1024
    if case .field(let name, .text) = field.subject, try reader.count(of: name, in: id, as: .text) > unitsMax,
      let text = try reader.text(in: 0..<unitsMax, of: name, in: id)
    {
      let begin = field.isFolded ? FoldedText.fold(text) : text
      if begin.utf8.count > IndexEntry.valueBytesMax { return .string(begin) }
    }
    return try value(of: field, reader)
  }

  /// The different values that a field with several has; nil if they are too many.
  ///
  /// - Parameter flags: gets what its entries say then.
  fileprivate func indexedValues(
    of field: QueryField, _ reader: RecordReader, _ flags: inout IndexEntry.Flags
  ) throws -> [Value]? {
    let id = try id
    var found: [Value]
    switch field.subject {
    case .field(let name, let kind) where kind == .set || kind == .map || kind == .list:
      guard try reader.count(of: name, in: id, as: kind) <= IndexEntry.valuesMax,
        try !field.mergesMembers || reader.count(of: name, in: id, as: .map) <= 4 * IndexEntry.valuesMax
      else { return nil }
      switch kind {
      case .set: found = Array(try reader.elements(of: name, withRegisters: field.formerNames, of: id))
      case .map:
        let entries = try reader.entries(of: name, in: id) ?? [:]
        // A key whose value is nullified reads as not there.
        if entries.values.contains(where: \.namesRecords) { flags.insert(.isContested) }
        found = entries.keys.map { .string($0.rawValue) }
      default: found = try reader.elements(ofList: name, field, id)
      }
    case .field, .name, .each:
      switch try value(of: field, reader) {
      case .array(let elements): found = elements
      case .map(let entries): found = entries.keys.map { .string($0.rawValue) }
      default: found = []
      }
    }
    found = Array(Set(found.map { $0.compared(in: id.zone) }))
    return found.count > IndexEntry.valuesMax ? nil : found
  }
}
