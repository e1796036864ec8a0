/// What a closure reads, and whether it may be another by now: ``ObservedValues`` where no task runs, as in a
/// simulation. Somebody decides when commits are looked at.
package final class WatchedRead<Value> {
  /// What was read last.
  package private(set) var value: Value
  private let observer: ObserverHub.Observer
  private let body: (borrowing ReadTransaction) throws -> Value

  /// - Throws: what the closure throws; ``StoreError`` `closed`, `damaged`, `system`.
  init(_ hub: ObserverHub, _ body: @escaping (borrowing ReadTransaction) throws -> Value) throws {
    self.body = body
    observer = try hub.makeObserver()
    value = try observer.read(body)
  }

  /// Whether a commit that was looked at may concern what was read last.
  package var isTold: Bool { observer.isTold }

  /// Reads again.
  package func read() throws { value = try observer.read(body) }

  /// What the closure reads in a transaction of the same store. It counts as not read.
  package func readUnwatched(_ transaction: borrowing ReadTransaction) throws -> Value {
    try body(transaction)
  }
}
