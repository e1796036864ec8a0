import EventStore
import OperationFormat

/// What one store has of a zone, in the numbers of a ``ZoneModel``.
struct ZoneView: Hashable, Sendable {
  /// The transactions that it has folded.
  var folded = TransactionSet()
  /// When each transaction was first received by the remote, as far as the store knows: milliseconds since
  /// 1970, `Int64.max` for those of which it knows no time. Shorter than there are transactions if none of
  /// the rest is known.
  private(set) var received: [Int64] = []
  /// The store's policies, of the types that have another than `latest`.
  var policies: [Name: ExistencePolicy] = [:]

  init() {}

  /// Notes that the store has folded a transaction.
  mutating func fold(_ number: Int) { folded.insert(number) }

  /// Notes that the store learned when the remote received a transaction; nil if the remote keeps no such
  /// times. The least of several times counts (DESIGN.md, 4).
  mutating func receive(_ number: Int, atMilliseconds milliseconds: UInt64?) {
    guard let milliseconds else { return }
    while received.count <= number { received.append(.max) }
    received[number] = min(received[number], Int64(clamping: milliseconds))
  }
}
