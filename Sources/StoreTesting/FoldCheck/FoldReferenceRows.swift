import EventStore
import OperationFormat

/// The rows that the index of references must have, made byte by byte from the table in `ReferenceKey`.
enum FoldReferenceRows {
  /// A cell or an item of a record, and the references in its value.
  struct Place {
    var path: CellPath
    var references: [Reference]
  }

  static func add(_ value: Value, at path: CellPath, to places: inout [Place]) {
    var references: [Reference] = []
    value.appendReferences(to: &references)
    var once: [Reference] = []
    for reference in references where !once.contains(reference) { once.append(reference) }
    if !once.isEmpty { places.append(Place(path: path, references: once)) }
  }

  static func rows(
    _ places: [Place], of record: UInt32, name: [UInt8]
  ) -> [(key: [UInt8], row: [UInt8])] {
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

  /// The bytes that name a target: whether a zone is named, the zone, and the record.
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
  static func record(of key: [UInt8]) -> UInt32 {
    let start = key[4] == 4 ? 5 + 1 + Int(key[5]) + 1 : 5
    return key[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
