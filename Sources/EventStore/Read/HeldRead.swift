/// A snapshot of a store that stays the same from call to call, until it is ended or released. For a simulator, which
/// holds readers open on purpose.
///
/// While it lasts, the space of what later commits replace is not used again, and the map cannot grow: writes go on in
/// what is left of it, and then fail with `full`. A store that is closed meanwhile gives its file free when it ends.
/// It belongs to one thread at a time.
package final class HeldRead {
  private var transaction: ReadTransaction?

  init(_ transaction: consuming ReadTransaction) { self.transaction = consume transaction }

  /// Runs a closure that reads the snapshot.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `damaged`, `system`.
  package func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    precondition(transaction != nil, "the held read has ended")
    do {
      return try body(transaction!)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Lets the snapshot go. More calls do nothing.
  package func end() { transaction = nil }
}
