import EventStore
import OperationFormat

extension WriteTransaction {
  /// Whether a write reads what it has just set a register to.
  ///
  /// While the zone's log is read again, a write has not seen what has no place there. That may win, if the device's clock is
  /// behind. Then what the write has set is in conflict with it.
  func reads(_ value: Value, of field: Name, in record: RecordID) throws -> Bool {
    let found = try self.value(of: field, in: record)
    if found == (value == .null ? nil : value) { return true }
    let heads = try heads(of: field, in: record)
    return heads.count > 1 && heads.contains { $0.content.value == value }
  }
}
