/// A named table of an environment. It is valid until the environment is closed, in the transaction that
/// opened it, and in all transactions that begin after that one was committed.
@usableFromInline
package struct Table: Sendable, Hashable {
  /// LMDB's handle (MDB_dbi).
  @usableFromInline let handle: UInt32

  /// The number of the table's environment: using it in another one is a defect.
  @usableFromInline let environment: UInt32
}
