import EventStore
import OperationFormat

/// What one store has of a zone, in the numbers of a ``ZoneModel``.
struct ZoneView: Hashable, Sendable {
  /// The transactions that it has folded.
  var folded = TransactionSet()
  /// When the remote first received each transaction, as far as the store knows: milliseconds since 1970, or
  /// `Int64.max` if it knows no time. Transactions beyond the end of the array have no known time.
  private(set) var received: [Int64] = []
  /// The store's policies, for the types that have another policy than `latest`.
  var policies: [Name: ExistencePolicy] = [:]

  init() {}

  /// Notes that the store has folded a transaction.
  mutating func fold(_ number: Int) { folded.insert(number) }

  /// Notes that the store learned when the remote received a transaction; nil if the remote keeps no such
  /// times. The least of several times counts.
  mutating func receive(_ number: Int, atMilliseconds milliseconds: UInt64?) {
    guard let milliseconds else { return }
    while received.count <= number { received.append(.max) }
    received[number] = min(received[number], Int64(clamping: milliseconds))
  }
}
