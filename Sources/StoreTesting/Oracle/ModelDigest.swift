import EventStore
import OperationFormat

/// A second implementation of a zone's digest, from the table of bytes in `StateDigest`.
enum ModelDigest {
  /// The digest of records that have heads, in the order of their names.
  static func digest(of records: [RecordHeads]) -> ContentHash {
    var bytes = ByteWriter()
    for record in records {
      bytes.append(name: record.name)
      bytes.append(count: record.fields.count + (record.existence.isEmpty ? 0 : 1))
      if !record.existence.isEmpty {
        append(RecordHeads.Field(name: "", kind: .register, heads: record.existence), to: &bytes)
      }
      for field in record.fields { append(field, to: &bytes) }
    }
    return ContentHash(of: bytes.span)
  }

  private static func append(_ field: RecordHeads.Field, to bytes: inout ByteWriter) {
    bytes.append(name: field.name)
    bytes.append(varint: UInt64(field.kind.rawValue))
    switch field.kind.model.shape {
    case .cell: append(field.heads, to: &bytes)
    case .elements:
      bytes.append(count: field.elements.count)
      for heads in field.elements {
        let identity = identity(of: heads[0].content)
        bytes.append(count: identity.count)
        bytes.append(identity)
        append(heads, to: &bytes)
      }
    case .units:
      for part in field.parts { append(part, to: &bytes) }
      bytes.append(0)
    }
  }

  private static func append(_ part: UnitOrderPart, to bytes: inout ByteWriter) {
    func unit(_ unit: UnitReference) {
      let maker = unit.maker!
      bytes.append(bigEndian: maker.replica.rawValue)
      bytes.append(varint: UInt64(maker.epoch))
      bytes.append(varint: unit.number)
    }
    func optional(_ reference: UnitReference?) {
      bytes.append(reference == nil ? 0 : 1)
      if let reference { unit(reference) }
    }
    bytes.append(1)
    unit(part.first)
    bytes.append(varint: part.count)
    optional(part.left)
    optional(part.right)
    optional(part.element)
    bytes.append(part.isVisible ? 1 : 0)
    bytes.append(count: part.text.count)
    bytes.append(part.text)
    bytes.append(count: part.makers.count)
    for maker in part.makers {
      bytes.append(varint: maker.sequence)
      bytes.append(varint: UInt64(maker.index))
      bytes.append(varint: maker.units)
    }
    bytes.append(count: part.items.count)
    for item in part.items {
      bytes.append(varint: item.number)
      append(item.places, to: &bytes) { content in
        guard case .item(let unit, _) = content else { return [] }
        var bytes = ByteWriter()
        bytes.append(varint: unit.number)
        return bytes.bytes
      }
      append(item.values, to: &bytes)
    }
  }

  private static func append(
    _ heads: [CellHead], to bytes: inout ByteWriter,
    payload: (CellHead.Content) -> [UInt8] = ModelDigest.payload
  ) {
    bytes.append(count: heads.count)
    for head in heads {
      let id = head.operation
      bytes.append(littleEndian: head.timestamp.rawValue)
      bytes.append(bigEndian: id.transaction.replica.rawValue)
      bytes.append(varint: UInt64(id.transaction.epoch))
      bytes.append(varint: id.transaction.sequence)
      bytes.append(varint: UInt64(id.index))
      let payload = payload(head.content)
      bytes.append(count: payload.count)
      bytes.append(payload.span.bytes)
    }
  }

  private static func payload(_ content: CellHead.Content) -> [UInt8] {
    switch content {
    case .dead: return [0]
    case .alive(let type):
      var bytes = ByteWriter()
      bytes.append(1)
      bytes.append(name: type)
      return bytes.bytes
    case .moved(let place):
      var bytes = ByteWriter()
      bytes.append(2)
      for name in [place.zone.owner, place.zone.name, place.name] { bytes.append(name: name) }
      return bytes.bytes
    case .element: return []
    case .value(let value), .addend(let value), .contribution(let value), .entry(_, let value):
      return encoded(value)
    case .item(_, let value): return encoded(value)
    case .text: preconditionFailure("a text has no heads")
    }
  }

  private static func identity(of content: CellHead.Content) -> [UInt8] {
    switch content {
    case .element(let value): return encoded(value)
    case .entry(let key, _): return Array(key.rawValue.utf8)
    case .value, .addend, .contribution, .item, .text, .alive, .dead, .moved:
      preconditionFailure("a head that belongs to no element")
    }
  }

  private static func encoded(_ value: Value) -> [UInt8] {
    do { return try value.encoded() } catch {
      preconditionFailure("a value in the log that cannot be encoded: \(error)")
    }
  }
}
