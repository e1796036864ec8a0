/// When a commit reaches the disk.
package enum SyncMode: Sendable {
  /// Each commit is on the disk when it returns.
  case full

  /// A power cut may undo the last commits, but never breaks the store (MDB_NOMETASYNC).
  case noMetaSync

  /// A power cut may break the store: for tests alone (MDB_NOSYNC).
  case none
}
