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
    guard field.kind == .set || field.kind == .map else { return append(field.heads, to: &bytes) }
    bytes.append(count: field.elements.count)
    for heads in field.elements {
      let identity = identity(of: heads[0].content)
      bytes.append(count: identity.count)
      bytes.append(identity)
      append(heads, to: &bytes)
    }
  }

  private static func append(_ heads: [CellHead], to bytes: inout ByteWriter) {
    bytes.append(count: heads.count)
    for head in heads {
      let id = head.operation
      bytes.append(littleEndian: head.timestamp.rawValue)
      bytes.append(bigEndian: id.transaction.replica.rawValue)
      bytes.append(varint: UInt64(id.transaction.epoch))
      bytes.append(varint: id.transaction.sequence)
      bytes.append(varint: UInt64(id.index))
      let payload = payload(of: head.content)
      bytes.append(count: payload.count)
      bytes.append(payload.span.bytes)
    }
  }

  private static func payload(of content: CellHead.Content) -> [UInt8] {
    switch content {
    case .dead: return [0]
    case .alive(let type):
      var bytes = ByteWriter()
      bytes.append(1)
      bytes.append(name: type)
      return bytes.bytes
    case .element: return []
    case .value(let value), .contribution(let value), .entry(_, let value): return encoded(value)
    }
  }

  private static func identity(of content: CellHead.Content) -> [UInt8] {
    switch content {
    case .element(let value): return encoded(value)
    case .entry(let key, _): return Array(key.rawValue.utf8)
    default: preconditionFailure("a head of no element")
    }
  }

  private static func encoded(_ value: Value) -> [UInt8] {
    do { return try value.encoded() } catch {
      preconditionFailure("a value of the log that is none: \(error)")
    }
  }
}
