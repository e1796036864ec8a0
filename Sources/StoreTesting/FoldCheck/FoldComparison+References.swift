import EventStore
import OperationFormat

/// Compares the index of references with the values that the oracle's heads show. The rows are put together here byte by
/// byte, by the table in `ReferenceKey`.
extension FoldComparison {
  /// A place of a record, and the references there: rule and target.
  private struct Place {
    var path: CellPath
    var references: [Reference]
  }

  /// The rows of a record in the index are those that its values need, and no others; and its row says so.
  mutating func compareReferences(_ driver: FoldDriver, _ record: Int, _ row: [UInt8]) throws {
    let places = try places(driver, record)
    let number = try RecordLayout.recordNumber(of: row.span.bytes)
    let expected = Self.rows(places, of: number, name: FoldNumbering.records[record])
    let found = driver.storage.contents.references.filter { Self.record(of: $0.key) == number }
    let flags: RowFlags =
      places.isEmpty
      ? []
      : places.contains { $0.references.contains { $0.rule == .cascade } } ? [.refers, .cascades] : .refers
    history.coverage.references += places.reduce(0) { $0 + $1.references.count }
    guard found.map(\.key) == expected.map(\.key), found.map(\.row) == expected.map(\.row) else {
      throw FoldMismatch(
        place: "the references of record r\(record)", expected: expected.map { "\($0.key): \($0.row)" },
        found: found.map { "\($0.key): \($0.row)" })
    }
    guard RecordLayout.flags(of: row.span.bytes) == flags else {
      throw FoldMismatch(
        place: "the flags of record r\(record)", expected: ["\(flags)"],
        found: ["\(RecordLayout.flags(of: row.span.bytes))"])
    }
  }

  /// The places of a record that show references.
  private mutating func places(_ driver: FoldDriver, _ record: Int) throws -> [Place] {
    var places: [Place] = []
    for field in history.cells.ofFields where history.oracle.isUsed(history.cell(record, field)) {
      let value: [UInt8]?
      find(driver, record, field)
      switch history.cells.kind(of: field) {
      case .existence, .counter, .contributions: continue
      case .register, .mapKey: value = expected.first.map { payload($0, field, driver) }
      case .setElement: value = expected.isEmpty ? nil : FoldCells.identity(history.cells.kind(of: field))
      }
      guard let value else { continue }
      add(try Value(decoding: value.span.bytes), at: driver.path(field), to: &places)
    }
    for place in history.sequences.indices where history.sequences[place].name.record == record {
      let name = history.sequences[place].name
      let parts = history.parts(at: place, folded: driver.folded, received: driver.knowledge.received)
      for part in parts {
        for item in part.items {
          guard let value = item.values.first?.content.value, let maker = part.first.maker else { continue }
          let replica = driver.storage.replicaNumber(of: maker.replica) ?? .none
          var element = ByteWriter()
          element.append(3)
          element.append(bigEndian: replica.rawValue)
          element.append(bigEndian: maker.epoch)
          element.append(bigEndian: item.number)
          let path = CellPath(driver.cell(name), ElementName(bytes: element.bytes))
          add(value, at: path, to: &places)
        }
      }
    }
    return places
  }

  private func add(_ value: Value, at path: CellPath, to places: inout [Place]) {
    var references: [Reference] = []
    value.appendReferences(to: &references)
    var once: [Reference] = []
    for reference in references where !once.contains(reference) { once.append(reference) }
    if !once.isEmpty { places.append(Place(path: path, references: once)) }
  }

  // MARK: Rows

  private static func rows(_ places: [Place], of record: UInt32, name: [UInt8]) -> [(
    key: [UInt8], row: [UInt8]
  )] {
    var rows: [(key: [UInt8], row: [UInt8])] = []
    var cascades: UInt64 = 0
    for place in places {
      let cascading = place.references.contains { $0.rule == .cascade }
      if cascading { cascades += 1 }
      var path = ByteWriter()
      path.append(bigEndian: record)
      path.append(bigEndian: place.path.cell.rawValue)
      path.append(place.path.element?.bytes ?? [])
      var row = ByteWriter()
      for reference in place.references {
        let target = target(of: reference)
        row.append(reference.rule.rawValue)
        row.append(count: target.count)
        row.append(target)
        precondition(target.count <= 128, "names of tests are short")
        let holder = [UInt8(1 + target.count), 0] + target + [reference.rule.rawValue] + path.bytes
        rows.append((key(4, holder), name))
      }
      rows.append((key(cascading ? 3 : 2, path.bytes), row.bytes))
    }
    if !places.isEmpty {
      var counted = ByteWriter()
      counted.append(bigEndian: record)
      var counts = ByteWriter()
      counts.append(varint: UInt64(places.count))
      counts.append(varint: cascades)
      rows.append((key(1, counted.bytes), counts.bytes))
    }
    return rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  private static func key(_ kind: UInt8, _ rest: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(bigEndian: FoldNumbering.state.rawValue)
    writer.append(kind)
    return writer.bytes + rest
  }

  /// What names a target: whether a zone is named, that, and the record.
  private static func target(of reference: Reference) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(reference.zone == nil ? 0 : 1)
    if let zone = reference.zone {
      writer.append(text: zone.owner.rawValue)
      writer.append(text: zone.name.rawValue)
    }
    writer.append(text: reference.record.rawValue)
    return writer.bytes
  }

  /// The record number in a key.
  private static func record(of key: [UInt8]) -> UInt32 {
    let start = key[4] == 4 ? 5 + 1 + Int(key[5]) + 1 : 5
    return key[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
