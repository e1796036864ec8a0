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
      if !record.existence.isEmpty { append(record.existence, of: "", 0, to: &bytes) }
      for field in record.fields {
        append(field.heads, of: field.name, UInt64(field.kind.rawValue), to: &bytes)
      }
    }
    return ContentHash(of: bytes.span)
  }

  private static func append(_ heads: [CellHead], of cell: Name, _ kind: UInt64, to bytes: inout ByteWriter) {
    bytes.append(name: cell)
    bytes.append(varint: kind)
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
    case .value(let value), .contribution(let value):
      do { return try value.encoded() } catch {
        preconditionFailure("a value of the log that is none: \(error)")
      }
    }
  }
}
