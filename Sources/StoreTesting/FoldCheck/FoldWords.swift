import EventStore
import OperationFormat

/// Cells and heads in words, for messages.
struct FoldWords {
  let history: FoldHistory

  static func name(_ record: Int, _ field: Int) -> String {
    field < 0 ? "existence of r\(record)" : "cell \(field) of r\(record)"
  }

  func describe(_ head: OracleHead, _ field: Int) -> String {
    let content = history.cells.kind(of: field).words(head.content)
    return line(
      content, head.timestamp, head.replica, head.epoch, UInt64(head.sequence),
      head.index)
  }

  func describe(_ head: Head, _ payload: [UInt8], _ field: Int, _ driver: FoldDriver) -> String {
    let replica = history.identities[driver.numbering.identity(of: head.id.replica)]
    return line(
      history.cells.kind(of: field).words(payload, driver.numbering), head.timestamp, replica, head.id.epoch,
      head.id.sequence,
      Int(head.id.index))
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
