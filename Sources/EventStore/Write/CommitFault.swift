import LMDB

/// How a commit fails in a simulation. It is in all builds, because long simulations use the release build.
package enum CommitFault: Hashable, Sendable, CaseIterable {
  /// The disk is full: nothing is committed.
  case full
  /// The disk failed before anything was committed.
  case failed
  /// Everything is committed, and then the disk fails, so that the store does not know that it is committed.
  case uncertain

  /// The error that LMDB would throw. After a real failure of its last step, LMDB refuses all work until the
  /// store is opened again; after this one, the store stays usable.
  private func error(at directory: String) -> LMDBError {
    LMDBError(code: self == .full ? .noSpace : .inputOutput, call: "mdb_txn_commit", path: directory)
  }

  /// Decides whether a commit fails. Call it just before the commit.
  ///
  /// - Returns: the error to report after the commit succeeds; nil for none.
  /// - Throws: the error to report in place of the commit.
  static func check(_ fault: (() -> CommitFault?)?, at directory: String) throws(LMDBError) -> LMDBError? {
    guard let fault = fault?() else { return nil }
    guard fault == .uncertain else { throw fault.error(at: directory) }
    return fault.error(at: directory)
  }
}
