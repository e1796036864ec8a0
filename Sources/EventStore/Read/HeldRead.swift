/// A read that sees the same commit in all of its calls, until it is ended or released. A simulator uses it
/// to keep readers open on purpose.
///
/// While it is open, LMDB cannot reuse the pages that later commits replace, and the map cannot grow: writes
/// use the rest of the map, and then fail with `full`. A store that is closed meanwhile releases its file
/// when the read ends. One thread uses it at a time.
package final class HeldRead {
  private var transaction: ReadTransaction?

  init(_ transaction: consuming ReadTransaction) { self.transaction = consume transaction }

  /// Runs a closure that reads.
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

  /// Ends the read. Further calls do nothing.
  func end() { transaction = nil }
}
