import EventStore

/// Changes a record's fields to given contents, kind by kind. Fields that are not given stay as they are.
///
/// It stops when the write is half full; the next write continues with the rest.
struct RecordFieldWriter {
  /// The most values or scalars that one call inserts or removes: less than half of what a write may have.
  private static let countMax = 1000
  /// The most bytes of values that one call inserts.
  private static let bytesMax = 1 << 20

  let record: RecordID

  init(_ record: RecordID) { self.record = record }

  /// Writes as much as fits into the write.
  ///
  /// - Parameter isContinued: whether an earlier write has begun with this record.
  /// - Returns: how many fields are complete, and whether these are all fields.
  func write(
    _ fields: RecordFields, over held: RecordFields, isContinued: Bool, _ tx: inout WriteTransaction
  ) throws -> (fieldsSet: Int, isWhole: Bool) {
    if !isContinued { try checkKinds(of: fields, over: held) }
    var count = 0
    do {
      for (field, value) in Self.differing(fields.registers, from: held) {
        try checkRoom(tx)
        try tx.set(field, of: record, to: value)
        count += 1
      }
      for (field, kind, value) in Self.differing(fields.merging, from: held) {
        try write(value, kind, over: held.merging[field]?[kind], field, &tx)
        count += 1
      }
    } catch is HalfFull {
      return (count, false)
    }
    return (count, true)
  }

  /// How many fields differ: those that a write would set.
  func differing(_ fields: RecordFields, from held: RecordFields) throws -> Int {
    try checkKinds(of: fields, over: held)
    return Self.differing(fields.registers, from: held).count
      + Self.differing(fields.merging, from: held).count
  }

  /// The registers that differ, in the order of their names.
  private static func differing(
    _ registers: [Name: Value], from held: RecordFields
  ) -> [(field: Name, value: Value)] {
    registers.sorted { $0.key < $1.key }.filter { $1 != held.registers[$0] ?? .null }
      .map { ($0.key, $0.value) }
  }

  /// The fields that merge and differ, by their names and kinds.
  private static func differing(
    _ merging: [Name: [FieldKind: Value]], from held: RecordFields
  ) -> [(field: Name, kind: FieldKind, value: Value)] {
    merging.sorted { $0.key < $1.key }.flatMap { field, kinds in
      FieldKind.merging.compactMap { kind in
        guard let value = kinds[kind], !isSame(value, held.merging[field]?[kind], kind) else { return nil }
        return (field, kind, value)
      }
    }
  }

  /// Whether a field has this value; the order of a set's elements does not matter.
  private static func isSame(_ value: Value, _ present: Value?, _ kind: FieldKind) -> Bool {
    switch kind {
    case .set: present.map { Set(value.elements) == Set($0.elements) } ?? false
    case .register, .counter, .map, .list, .text, .contributions: value == present
    }
  }

  /// The write is half full.
  private struct HalfFull: Error {}

  private func checkRoom(_ tx: borrowing WriteTransaction) throws {
    if try tx.fullness(in: record.zone) >= 0.5 { throw HalfFull() }
  }

  /// Throws if a field that has a kind would get a second one, because only one of them is visible. A field
  /// without a kind is written with all kinds of the line. So a record whose field has two kinds, made by two
  /// apps, is imported as it was.
  private func checkKinds(of fields: RecordFields, over held: RecordFields) throws {
    for field in Set(fields.registers.keys).union(fields.merging.keys).sorted() {
      let present = held.kinds(of: field)
      guard let kind = present.first,
        let other = fields.kinds(of: field).first(where: { !present.contains($0) })
      else { continue }
      throw ToolError.input(
        "kindDiffers",
        "field “\(field)” of \(record) is a \(kind.name) in the store, and a \(other.name) in the file",
        hint: "give it another name, or leave it out of the line")
    }
  }

  private func write(
    _ value: Value, _ kind: FieldKind, over held: Value?, _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    switch kind {
    case .register:
      try checkRoom(tx)
      try tx.set(field, of: record, to: value)
    case .counter:
      try checkRoom(tx)
      try addDifference(value, over: held, field, &tx)
    case .set: try writeSet(value.elements, over: held?.elements ?? [], field, &tx)
    case .map: try writeMap(value.entries, over: held?.entries ?? [:], field, &tx)
    case .list: try writeList(value.elements, over: held?.elements ?? [], field, &tx)
    case .text: try writeText(value.text, over: held?.text ?? "", field, &tx)
    case .contributions: try writeContributions(value.elements, over: held?.elements ?? [], field, &tx)
    }
  }

  private func writeSet(
    _ elements: [Value], over held: [Value], _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    let present = Set(held)
    for element in elements where !present.contains(element) {
      try checkRoom(tx)
      try tx.insert(element, into: field, of: record)
    }
    let wanted = Set(elements)
    for element in held where !wanted.contains(element) {
      try checkRoom(tx)
      try tx.remove(element, from: field, of: record)
    }
  }

  private func writeMap(
    _ entries: [Name: Value], over held: [Name: Value], _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    for (key, value) in entries.sorted(by: { $0.key < $1.key }) where held[key] != value {
      try checkRoom(tx)
      try tx.put(value, at: key, in: field, of: record)
    }
    for key in held.keys.sorted() where entries[key] == nil {
      try checkRoom(tx)
      try tx.removeValue(at: key, from: field, of: record)
    }
  }

  private func writeList(
    _ elements: [Value], over held: [Value], _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    let (kept, removed, inserted) = Self.difference(of: elements, from: held)
    try remove(removed, at: kept, &tx) { range, tx in
      try tx.removeElements(range, from: field, of: record)
    }
    var rest = inserted[...]
    while !rest.isEmpty {
      try checkRoom(tx)
      let part = Self.part(of: rest)
      try tx.insertElements(Array(part), at: kept + inserted.count - rest.count, in: field, of: record)
      rest = rest.dropFirst(part.count)
    }
  }

  private func writeText(
    _ text: String, over held: String, _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    let (kept, removed, inserted) = Self.difference(
      of: Array(text.unicodeScalars), from: Array(held.unicodeScalars))
    try remove(removed, at: kept, &tx) { range, tx in
      try tx.removeText(range, from: field, of: record)
    }
    var rest = inserted[...]
    while !rest.isEmpty {
      try checkRoom(tx)
      var part = String.UnicodeScalarView()
      part.append(contentsOf: rest.prefix(Self.bytesMax / 4))
      try tx.insertText(String(part), at: kept + inserted.count - rest.count, in: field, of: record)
      rest = rest.dropFirst(part.count)
    }
  }

  private func writeContributions(
    _ payloads: [Value], over held: [Value], _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    guard Array(payloads.prefix(held.count)) == held else {
      throw differs(field, "a contribution cannot be removed")
    }
    for payload in payloads.dropFirst(held.count) {
      try checkRoom(tx)
      try tx.contribute(payload, to: field, of: record)
    }
  }

  /// The difference between two sequences: after the common start, some elements are removed and others
  /// inserted.
  private static func difference<Element: Equatable>(
    of wanted: [Element], from held: [Element]
  ) -> (kept: Int, removed: Int, inserted: ArraySlice<Element>) {
    let kept = zip(wanted, held).prefix { $0 == $1 }.count
    let last = zip(wanted[kept...].reversed(), held[kept...].reversed()).prefix { $0 == $1 }.count
    return (kept, held.count - kept - last, wanted[kept..<(wanted.count - last)])
  }

  /// Removes the elements or scalars of a range, in parts.
  private func remove(
    _ count: Int, at index: Int, _ tx: inout WriteTransaction,
    _ removePart: (Range<Int>, inout WriteTransaction) throws -> Void
  ) throws {
    var left = count
    while left > 0 {
      try checkRoom(tx)
      let part = index..<index + min(left, Self.countMax)
      try removePart(part, &tx)
      left -= part.count
    }
  }

  /// The first values, as many as one call inserts.
  private static func part(of values: ArraySlice<Value>) -> ArraySlice<Value> {
    var byteCount = 0
    let part = values.prefix(countMax).prefix { value in
      byteCount += value.byteCount
      return byteCount <= bytesMax
    }
    return part.isEmpty ? values.prefix(1) : part
  }

  private func addDifference(
    _ value: Value, over held: Value?, _ field: Name, _ tx: inout WriteTransaction
  ) throws {
    guard let held else { return try tx.add(value, to: field, of: record) }
    guard case (.int(let wanted), .int(let present)) = (value, held) else {
      throw differs(field, "only counters of integers can be changed to another value")
    }
    let (difference, overflow) = wanted.subtractingReportingOverflow(present)
    if overflow { throw differs(field, "the difference is too large") }
    try tx.add(.int(difference), to: field, of: record)
  }

  private func differs(_ field: Name, _ why: String) -> ToolError {
    ToolError.input(
      "fieldDiffers", "field “\(field)” of \(record) differs in the store, and \(why)",
      hint: "import into another store, or leave the field out of the line")
  }
}

extension Value {
  fileprivate var elements: [Value] { if case .array(let values) = self { values } else { [] } }
  fileprivate var entries: [Name: Value] { if case .map(let entries) = self { entries } else { [:] } }
  fileprivate var text: String { if case .string(let text) = self { text } else { "" } }

  /// Its approximate size in bytes.
  fileprivate var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count + 8
    case .bytes(let bytes): bytes.count + 8
    case .array(let values): values.reduce(8) { $0 + $1.byteCount }
    case .map(let entries): entries.reduce(8) { $0 + $1.key.rawValue.utf8.count + $1.value.byteCount }
    case .null, .bool, .int, .double, .decimal, .date, .uuid, .reference, .asset: 64
    }
  }
}
