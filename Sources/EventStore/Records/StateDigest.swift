import LMDB
import OperationFormat

/// The digest of a zone's state, in identities instead of this store's numbers, so that replicas can compare it.
///
/// SHA-256 over these bytes of each record that has heads, in the order of the records' names as bytes:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | record's name |
/// | varint | count of its cells with heads |
/// | … | existence, then the fields' cells in the order of their names, then their kinds |
///
/// and of each cell:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | field's name, empty for the existence |
/// | varint | kind: 0 a register or the existence, 1 a counter, 2 a set, 3 a map, 4 a list, 5 a text, 6 contributions |
/// | … | its heads; of a set or a map the count of its elements (varint), then of each the encoded element or the key (varint, count) and its heads |
///
/// of a list or a text for each of its parts, and 0 at the end:
///
/// | bytes | what |
/// |---|---|
/// | 1 | 1 |
/// | … | the first unit: replica (16, big-endian), epoch, number (varints) |
/// | varint | count of units |
/// | … | left origin, right origin, and the element that was moved there: each 0 for none, else 1 and the unit |
/// | 1 | 1 if they are visible, else 0 |
/// | varint, count | the UTF-8 of a text that is visible |
/// | varint | count of the operations that made them, then sequence, index and count of units of each (varints) |
/// | varint | count of the elements among them, then of each the unit's number (varint), the heads of its places, those of its values |
///
/// A part is as long as it can be: units of one replica's epoch with numbers that follow each other, each the left origin of the
/// next, with one right origin, all visible or none. A unit that is a place that an element was moved to is a part of its own.
/// The payload of a place's head is the unit's number (varint).
///
/// and of heads:
///
/// | bytes | what |
/// |---|---|
/// | varint | their count |
/// | … | each, greatest first: timestamp (8, little-endian), replica (16, big-endian), epoch, sequence, index (varints), payload (varint, count) |
///
/// The payload of an existence head is 0 for dead; 1 and the type's name (varint, count); or 2 and the zone's owner, its name
/// and the record's name (varint, count) where it moved to; of a set's element it is empty;
/// else it is the encoded value. Elements stand in the order of their names: those of at most 128 bytes by their bytes, then
/// the others by their SHA-256.
enum StateDigest {
  static func digest(of zone: ZoneID, _ readView: ReadView) throws -> ContentHash {
    var hasher = ContentHasher()
    var writer = ByteWriter()
    try readView.forEachRow(in: zone) { name, row, state in
      writer.removeAll()
      writer.append(text: name.rawValue)
      let index = try CellIndex(row)
      let entries = try index.entries.map { entry in
        (entry, entry.cell == .existence ? Name("") : try readView.name(entry.cell.field))
      }.sorted { ($0.1, $0.0.cell) < ($1.1, $1.0.cell) }
      writer.append(count: entries.count)
      for (entry, name) in entries {
        writer.append(text: name.rawValue)
        writer.append(varint: UInt64(entry.cell.rawValue & 0xf))
        try index.withRow(of: entry, in: row) { row in
          try append(entry.cell, in: row, state, readView, to: &writer, &hasher)
        }
      }
      hasher.update(writer.span)
      return true
    }
    return hasher.finish()
  }

  private static func append(
    _ cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ readView: ReadView,
    to writer: inout ByteWriter, _ hasher: inout ContentHasher
  ) throws {
    if cell.kind?.isSequence ?? false {
      // A text may be long: its bytes need not stand together.
      try readView.forEachPart(of: cell, in: row, state) { part in
        try append(part, to: &writer)
        hasher.update(writer.span)
        writer.removeAll()
      }
      return writer.append(0)
    }
    guard cell.kind?.hasElements ?? false else {
      return try append(try readView.heads(of: cell, in: row, state), of: cell, readView, to: &writer)
    }
    let place = try RecordLayout.place(of: cell, in: row)
    writer.append(count: try ElementRow.count(in: row.extracting(place.body)))
    try readView.forEachElement(of: cell, in: row, state) { element in
      writer.append(count: element.identity.count)
      writer.append(element.identity)
      try append(element.heads, of: cell, readView, to: &writer)
    }
  }

  private static func append(_ part: UnitOrderPart, to writer: inout ByteWriter) throws {
    func append(_ unit: UnitReference) {
      writer.append(bigEndian: unit.maker?.replica.rawValue ?? 0)
      writer.append(varint: UInt64(unit.maker?.epoch ?? 0))
      writer.append(varint: unit.number)
    }
    writer.append(1)
    append(part.first)
    writer.append(varint: part.count)
    for unit in [part.left, part.right, part.element] {
      writer.append(unit == nil ? 0 : 1)
      if let unit { append(unit) }
    }
    writer.append(part.isVisible ? 1 : 0)
    writer.append(count: part.text.count)
    writer.append(part.text)
    writer.append(count: part.makers.count)
    for maker in part.makers {
      writer.append(varint: maker.sequence)
      writer.append(varint: UInt64(maker.index))
      writer.append(varint: maker.units)
    }
    writer.append(count: part.items.count)
    for item in part.items {
      writer.append(varint: item.number)
      try Self.append(item.places, to: &writer) { head, payload in
        if case .item(let unit, _) = head.content { payload.append(varint: unit.number) }
      }
      try Self.append(item.values, to: &writer) { head, payload in
        try head.content.value?.encode(into: &payload)
      }
    }
  }

  private static func append(
    _ heads: [OwnedHead], of cell: CellNumber, _ readView: ReadView, to writer: inout ByteWriter
  ) throws {
    writer.append(count: heads.count)
    for head in heads { try append(head, of: cell, readView, to: &writer) }
  }

  private static func append(
    _ head: OwnedHead, of cell: CellNumber, _ readView: ReadView, to writer: inout ByteWriter
  ) throws {
    let id = head.head.id
    let replica = try readView.replica(id.replica)
    writer.append(littleEndian: head.head.timestamp.rawValue)
    writer.append(bigEndian: replica.rawValue)
    writer.append(varint: UInt64(id.epoch))
    writer.append(varint: id.sequence)
    writer.append(varint: UInt64(id.index))
    if cell.kind == .contributions {
      // What it had seen is said in this store's numbers, and known by who made it.
      let payload = head.payload.span.bytes
      let value = payload.extracting(try ContributionPayload(payload).value)
      writer.append(count: value.byteCount)
      return writer.append(value)
    }
    guard cell == .existence else {
      writer.append(count: head.payload.count)
      return writer.append(head.payload.span.bytes)
    }
    switch try Existence(payload: head.payload.span.bytes) {
    case .dead:
      writer.append(count: 1)
      writer.append(0)
    case .moved(let place):
      // As in the row: no number of this store is in it.
      var payload = ByteWriter()
      Existence.moved(to: place).append(to: &payload)
      writer.append(count: payload.count)
      writer.append(payload.span)
    case .alive(let type):
      var payload = ByteWriter()
      payload.append(1)
      payload.append(text: try readView.name(type).rawValue)
      writer.append(count: payload.count)
      writer.append(payload.span)
    }
  }

  private static func append(
    _ heads: [CellHead], to writer: inout ByteWriter, payload: (CellHead, inout ByteWriter) throws -> Void
  ) throws {
    writer.append(count: heads.count)
    for head in heads {
      let id = head.operation
      writer.append(littleEndian: head.timestamp.rawValue)
      writer.append(bigEndian: id.transaction.replica.rawValue)
      writer.append(varint: UInt64(id.transaction.epoch))
      writer.append(varint: id.transaction.sequence)
      writer.append(varint: UInt64(id.index))
      var bytes = ByteWriter()
      try payload(head, &bytes)
      writer.append(count: bytes.count)
      writer.append(bytes.span)
    }
  }
}
