import EventStore
import OperationFormat

/// What a comparison says when it fails.
extension FoldComparison {
  /// A mismatch with the expected heads of the cell at hand, and what lies in the storage.
  func mismatch(_ driver: FoldDriver, _ record: Int, _ field: Int, _ note: String? = nil) -> FoldMismatch {
    var found: [String]
    do {
      found = try (driver.heads(of: record, field) ?? []).map {
        describe($0.head, $0.payload, field, driver)
      }
    } catch {
      found = ["an error: \(error)"]
    }
    if let note { found.append("(\(note))") }
    return FoldMismatch(
      place: Self.name(record, field), expected: expected.map { describe($0, field) }, found: found)
  }

  static func name(_ record: Int, _ field: Int) -> String {
    field < 0 ? "existence of r\(record)" : "cell \(field) of r\(record)"
  }

  func describe(_ head: OracleHead, _ field: Int) -> String {
    let content =
      switch history.cells.kind(of: field) {
      case .existence where head.content == FoldHistory.dead: "dead"
      case .existence:
        FoldHistory.place(head.content).map { "moved to p\($0)" } ?? "alive as t\(head.content)"
      case .register, .mapKey, .contributions: FoldValue(rawValue: UInt8(head.content)).description
      case .counter: "\(head.content) added"
      case .setElement: "there"
      }
    return line(
      content, head.timestamp, head.replica, head.epoch, UInt64(head.sequence),
      head.index)
  }

  func describe(_ head: Head, _ payload: [UInt8], _ field: Int, _ driver: FoldDriver) -> String {
    let replica = history.identities[driver.numbering.identity(of: head.id.replica)]
    return line(
      describe(payload, field, driver), head.timestamp, replica, head.id.epoch, head.id.sequence,
      Int(head.id.index))
  }

  private func describe(_ payload: [UInt8], _ field: Int, _ driver: FoldDriver) -> String {
    if field < 0 {
      switch try? Existence(payload: payload.span.bytes) {
      case .dead: return "dead"
      case .alive(let type): return "alive as t\(driver.numbering.type(of: type))"
      case .moved(let place): return "moved to \(place.name)"
      case nil: return "\(payload)"
      }
    }
    if history.cells.kind(of: field) == .contributions,
      let value = try? ContributionPayload.value(in: payload.span.bytes)
    {
      return "\(value)"
    }
    let values = (0..<FoldValue.count).map { FoldValue(rawValue: $0) }
    return values.first { $0.payload == payload }?.description ?? "\(payload)"
  }

  private func line(
    _ content: String, _ timestamp: Timestamp, _ replica: ReplicaID, _ epoch: UInt32, _ sequence: UInt64,
    _ index: Int
  ) -> String {
    let identity = history.identities.firstIndex { $0.rawValue == replica.rawValue }
    let name = identity.map { "identity \($0)" } ?? "\(replica)"
    return "\(content) at \(timestamp) by \(name) epoch \(epoch) sequence \(sequence) operation \(index)"
  }
}
