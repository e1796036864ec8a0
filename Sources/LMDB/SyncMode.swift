/// When a commit reaches the disk.
package enum SyncMode: Sendable {
  /// A commit returns only when it is on the disk.
  case full

  /// A power failure may lose the last commits, but never damages the store (MDB_NOMETASYNC).
  case noMetaSync

  /// A power failure may damage the store: for tests only (MDB_NOSYNC).
  case none
}
