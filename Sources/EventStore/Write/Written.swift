public import OperationFormat
import Synchronization

/// What a write has put into the log: known once it is committed.
///
/// ```swift
/// let sent = try await store.write { tx in
///   try tx.set("body", of: message, to: "Hello")
///   return tx.written
/// }
/// try await store.receipt(of: sent) { $0.isShipped }
/// ```
public final class Written: Sendable {
  /// A transaction of the write: one for each zone.
  public struct Transaction: Hashable, Sendable {
    public let zone: ZoneID
    public let id: TransactionID
    /// Where it is in this store's log: what ``LocalStore/undo(_:author:schemaVersion:)`` takes.
    public let position: Position

    init(_ kept: KeptTransaction) {
      (zone, id, position) = (kept.header.zone, kept.header.id, kept.position)
    }
  }

  private let found = Mutex<[Transaction]>([])

  init() {}

  /// The transactions, in the order of the log. None before the commit, and none if the write has changed nothing.
  public var transactions: [Transaction] { found.withLock { $0 } }

  func set(_ transactions: [Transaction]) { found.withLock { $0 = transactions } }
}

extension ReadTransaction {
  /// How far a write has come; of one in several zones, the one that is behind. `local` if it has changed nothing.
  ///
  /// Where a store takes a new identity before it could send a write, as a copy of a store does, the write is made again
  /// under that one, and this stays `local`.
  ///
  /// - Parameter written: what the closure of the write returned.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func receipt(of written: Written) throws -> Receipt {
    var least: Receipt?
    for transaction in written.transactions {
      let receipt = try receipt(of: transaction.id, in: transaction.zone)
      least = least?.atMost(receipt) ?? receipt
    }
    return least ?? .local
  }
}
