import LMDB

/// How a commit is to fail, for a simulator: in all builds, since heavy runs are made from the release build.
package enum CommitFault: Hashable, Sendable, CaseIterable {
  /// The disk is full: nothing is committed.
  case full
  /// The disk failed before anything was committed.
  case failed
  /// Everything is committed, and then the disk fails, so that the store cannot know at once.
  case uncertain

  /// What LMDB would say. After a real failure of its last step it refuses all work until the store is opened
  /// again; after this one the store stays usable.
  private func error(at directory: String) -> LMDBError {
    LMDBError(code: self == .full ? .noSpace : .inputOutput, call: "mdb_txn_commit", path: directory)
  }

  /// To be called right before a commit.
  ///
  /// - Returns: what the commit is to say although it succeeds; nil for nothing.
  /// - Throws: what it is to say instead.
  static func check(_ fault: (() -> CommitFault?)?, at directory: String) throws(LMDBError) -> LMDBError? {
    guard let fault = fault?() else { return nil }
    guard fault == .uncertain else { throw fault.error(at: directory) }
    return fault.error(at: directory)
  }
}
