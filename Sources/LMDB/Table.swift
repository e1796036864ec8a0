/// A named table of an environment. It is valid until the environment is closed, in the transaction that
/// opened it, and in all transactions that begin after that one was committed.
@usableFromInline
package struct Table: Sendable, Hashable {
  /// LMDB's handle (MDB_dbi).
  @usableFromInline let handle: UInt32

  /// The number of the table's environment: using it in another one is a defect.
  @usableFromInline let environment: UInt32

  /// The handles of the tables of the values, in a table that keeps versions; 0 in others.
  @usableFromInline var versions: UInt32 = 0
  var branches: UInt32 = 0

  /// Whether it keeps the values that its keys had: see ``Transaction/openTable(keepingVersions:create:)``.
  @inlinable package var keepsVersions: Bool { versions != 0 }
}
