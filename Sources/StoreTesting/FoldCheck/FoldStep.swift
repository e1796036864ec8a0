/// One step of a schedule. A step that is impossible at its place does nothing: for example, there is nothing
/// to ship, or no such replica. So any steps may be left out of a schedule.
package enum FoldStep: Hashable, Sendable {
  /// A replica makes a transaction when its clock shows a time.
  case write(replica: Int, wallMilliseconds: Int64, operations: [FoldOperation])
  /// A replica appends its first pending transactions that were not shipped yet to the remote log: at most
  /// `count`, of one identity. The log receives them at a time, or keeps no times. With `again`, those that
  /// were shipped and not acknowledged are offered once more.
  case ship(replica: Int, count: Int, receivedMilliseconds: Int64?, again: Bool)
  /// A replica learns the place of the oldest segment that it shipped and that was not acknowledged.
  case acknowledge(replica: Int)
  /// A replica folds the next segments of the remote log after its token.
  case fetch(replica: Int, segments: Int, wallMilliseconds: Int64)
  /// A replica gets a segment again that it already has: the number counts back from its token.
  case redeliver(replica: Int, back: Int)
  /// A replica takes another identity: the next epoch, or one of the schedule's identities by its number.
  case renew(replica: Int, identity: Int?)
  /// A replica makes a transaction that names a floor: so many offsets below its token, or above it.
  case nameFloor(replica: Int, wallMilliseconds: Int64, below: Int)
  /// A replica compacts its next records, as many as there are or up to a number.
  case compact(replica: Int, records: Int)
  /// A new replica starts as a copy of another one's store, under an identity of its own, as in `renew`.
  case copy(from: Int, to: Int, identity: Int?)
}

extension FoldStep: CustomStringConvertible {
  /// One line.
  package var description: String {
    switch self {
    case .write(let replica, let wall, let operations):
      "replica \(replica) writes at \(wall) ms: " + operations.map(\.description).joined(separator: "; ")
    case .ship(let replica, let count, let received, let again):
      "replica \(replica) ships \(again ? "again " : "")up to \(count), received "
        + (received.map { "at \($0) ms" } ?? "at no known time")
    case .acknowledge(let replica): "replica \(replica) gets an acknowledgement"
    case .fetch(let replica, let segments, let wall): "replica \(replica) fetches \(segments) at \(wall) ms"
    case .redeliver(let replica, let back):
      "replica \(replica) gets the segment \(back) before its token again"
    case .renew(let replica, let identity):
      "replica \(replica) continues " + (identity.map { "as identity \($0)" } ?? "in its next epoch")
    case .nameFloor(let replica, let wall, let below):
      "replica \(replica) names at \(wall) ms the floor \(below) below its token"
    case .compact(let replica, let records): "replica \(replica) compacts up to \(records) records"
    case .copy(let source, let target, let identity):
      "replica \(target) starts as a copy of replica \(source) "
        + (identity.map { "as identity \($0)" } ?? "in its next epoch")
    }
  }
}
