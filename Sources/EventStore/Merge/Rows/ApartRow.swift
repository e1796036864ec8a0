package import OperationFormat

/// The row of heads that are kept apart. A head has a row for itself, but for the addends of a counter: those of
/// adjacent transactions share one (``ElementKey/init(state:record:_:head:)``).
///
/// | bytes | what |
/// |---|---|
/// | … | the first head, with its whole payload: see ``Head`` |
///
/// Then for each other head, in the order of sequences and indices:
///
/// | bytes | what |
/// |---|---|
/// | varint | its sequence, less that of the head before |
/// | varint | index of the operation in its transaction |
/// | varint | its effective timestamp, less that of the head before, in zigzag |
/// | varint | count of payload bytes |
/// | count | payload |
package struct ApartRow: Sendable {
  /// In the order of sequences and indices, all of one replica and epoch.
  package private(set) var heads: [OwnedHead] = []

  init() {}

  package init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    var head = try reader.readHead()
    while true {
      let payload = try reader.readBytes(try reader.readCount("element.payload"), "element.payload")
      heads.append(OwnedHead(head: head, payload: row.extracting(payload).bytes))
      if reader.remaining == 0 { return }
      let start = reader.position
      let before = head
      let (sequence, overflow) = before.id.sequence.addingReportingOverflow(
        try reader.readVarint("head.sequence"))
      head.id.sequence = sequence
      head.id.index = try reader.readUInt32Varint("head.index")
      head.timestamp = Timestamp(
        rawValue: before.timestamp.rawValue &+ UInt64(bitPattern: try reader.readZigzag("head.timestamp")))
      guard !overflow, before.id < head.id else {
        throw reader.fail(
          .damaged, at: start, "head", expected: "a later operation", found: "\(sequence), \(head.id.index)")
      }
    }
  }

  /// - Parameter writer: is empty.
  func append(to writer: inout ByteWriter) {
    var before: Head?
    for owned in heads {
      let head = owned.head
      if let before {
        writer.append(varint: head.id.sequence - before.id.sequence)
        writer.append(varint: UInt64(head.id.index))
        writer.append(zigzag: Int64(bitPattern: head.timestamp.rawValue &- before.timestamp.rawValue))
      } else {
        writer.append(head)
      }
      writer.append(varint: UInt64(owned.payload.count))
      writer.append(owned.payload)
      before = head
    }
  }

  /// The greatest of its heads; nil if it has none.
  func greatest(by replicas: some ReplicaReading) throws -> Head? {
    try heads.map(\.head).max { try replicas.isGreater($1, $0) }
  }

  /// Adds a head that is not there.
  mutating func insert(_ head: OwnedHead) {
    let place = heads.lastIndex { $0.head.id < head.head.id }
    heads.insert(head, at: place.map { $0 + 1 } ?? 0)
  }

  /// - Returns: the heads that it had.
  mutating func remove(_ isRemoved: (HeadID) throws -> Bool) rethrows -> [OwnedHead] {
    let removed = try heads.filter { try isRemoved($0.head.id) }
    if !removed.isEmpty {
      let ids = Set(removed.map(\.head.id))
      heads.removeAll { ids.contains($0.head.id) }
    }
    return removed
  }
}
