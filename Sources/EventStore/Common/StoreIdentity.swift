public import OperationFormat

/// A store's identity: which replica it is, and in which epoch of it.
public struct StoreIdentity: Hashable, Sendable {
  public let replica: ReplicaID
  /// Counts the lives of a replica: it grows when a store was copied or restored.
  public let epoch: UInt32

  public init(replica: ReplicaID, epoch: UInt32) {
    self.replica = replica
    self.epoch = epoch
  }
}

// | bytes | what |
// |---|---|
// | 16 | replica, big-endian |
// | varint | epoch |

extension StoreIdentity {
  func append(to writer: inout ByteWriter) {
    writer.append(bigEndian: replica.rawValue)
    writer.append(varint: UInt64(epoch))
  }

  init(row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try self.init(from: &reader)
    try reader.finish("identity")
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    replica = ReplicaID(rawValue: try reader.readBigEndian("identity", as: UInt128.self))
    epoch = try reader.readUInt32Varint("identity.epoch")
  }
}
