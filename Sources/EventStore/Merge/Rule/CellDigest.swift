import OperationFormat

/// Collects the canonical bytes of cells, in identities instead of this store's numbers: see `StateDigest`.
struct CellDigest: ~Copyable {
  var writer = ByteWriter()
  private var hasher = ContentHasher()

  /// Hashes what was written, so that long cells need not stand in memory as a whole.
  mutating func flush() {
    var bytes = ByteWriter()
    swap(&bytes, &writer)
    hasher.update(bytes.span)
    // The buffer is used again.
    bytes.removeAll()
    swap(&bytes, &writer)
  }

  mutating func finish() -> ContentHash {
    flush()
    return hasher.finish()
  }

  /// Appends heads with their payloads as they are in the row.
  mutating func append(_ heads: [OwnedHead], _ replicas: some ReplicaReading) throws {
    writer.append(count: heads.count)
    for owned in heads {
      try append(owned.head, replicas)
      append(payload: owned.payload.span.bytes)
    }
  }

  /// Appends a head up to and without its payload.
  mutating func append(_ head: Head, _ replicas: some ReplicaReading) throws {
    let transaction = TransactionID(
      replica: try replicas.replicaID(head.id.replica), epoch: head.id.epoch, sequence: head.id.sequence)
    append(head.timestamp, OperationID(transaction: transaction, index: head.id.index))
  }

  mutating func append(_ timestamp: Timestamp, _ operation: OperationID) {
    writer.append(littleEndian: timestamp.rawValue)
    writer.append(bigEndian: operation.transaction.replica.rawValue)
    writer.append(varint: UInt64(operation.transaction.epoch))
    writer.append(varint: operation.transaction.sequence)
    writer.append(varint: UInt64(operation.index))
  }

  mutating func append(payload: RawSpan) {
    writer.append(count: payload.byteCount)
    writer.append(payload)
  }
}
