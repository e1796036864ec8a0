import Synchronization

/// Records which data files this process has open, so that none is opened twice.
///
/// LMDB's locks are POSIX locks: closing any descriptor of `lock.mdb` drops those of the whole process. So
/// closing a second environment for the same file would break the first. (lmdb.h, Caveats)
enum Registry {
  /// A file, and the fork in which it was opened: a child may open a file that its parent has open.
  private struct Key: Hashable {
    var identity: FileIdentity
    var forkGeneration: Int
  }

  private static let open = Mutex<Set<Key>>([])

  /// Records a file; returns whether it was missing.
  static func insert(_ identity: FileIdentity) -> Bool {
    let key = Key(identity: identity, forkGeneration: ForkGuard.generation)
    return open.withLock { $0.insert(key).inserted }
  }

  /// Removes a file.
  static func remove(_ identity: FileIdentity) {
    let key = Key(identity: identity, forkGeneration: ForkGuard.generation)
    _ = open.withLock { $0.remove(key) }
  }
}
