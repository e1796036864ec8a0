import OperationFormat

/// Lets what a write hands out work on the write: an editor of a record, whose setters cannot throw.
///
/// The first error of a change fails the whole write: its closure may go on, but nothing of it is committed,
/// and the write throws that error.
package struct WriteHandle {
  private let write: LocalWrite
  private let number: UInt64
  private let types: [Name]

  /// - Parameters:
  ///   - transaction: the write.
  ///   - types: those of the records that it changes; empty for all.
  package init(_ transaction: borrowing WriteTransaction, types: [Name] = []) {
    write = transaction.write
    number = write.number
    self.types = types
  }

  /// Runs a change. After an error of the write it does nothing. That a record is of another type is such an error.
  ///
  /// - Precondition: the closure of the write has not returned.
  package func change(_ body: (inout WriteTransaction) throws -> Void) {
    _ = run { transaction in try write.taking(types) { try body(&transaction) } }
  }

  /// Runs a read; nil after an error.
  ///
  /// - Precondition: the closure of the write has not returned.
  package func read<R>(_ body: (borrowing WriteTransaction) throws -> R) -> R? {
    run { transaction in try body(transaction) }
  }

  private func run<R>(_ body: (inout WriteTransaction) throws -> R) -> R? {
    precondition(write.number == number, "a record's editor was used after the closure of its write")
    guard !write.hasFailed else { return nil }
    var transaction = WriteTransaction(write)
    do {
      return try body(&transaction)
    } catch {
      write.fail(error)
      return nil
    }
  }
}
