/// A named table of an environment; valid until the environment is closed, in all transactions that began after the
/// one that opened it has committed, and in that one.
@usableFromInline
package struct Table: Sendable, Hashable {
  /// LMDB's handle (MDB_dbi).
  @usableFromInline let handle: UInt32

  /// The number of the environment that it belongs to: using it in another is a defect.
  @usableFromInline let environment: UInt32
}
