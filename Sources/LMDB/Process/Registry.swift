import Synchronization

/// Knows which data files this process has open, so that none is opened twice.
///
/// LMDB's locks are POSIX locks: closing any descriptor of `lock.mdb` drops those of the whole process, so a second
/// environment on the same file would break the first when it is closed. (lmdb.h, Caveats)
enum Registry {
  /// A file, and the fork that opened it: what the parent has open does not hinder the child.
  private struct Key: Hashable {
    var identity: FileIdentity
    var forkGeneration: Int
  }

  private static let open = Mutex<Set<Key>>([])

  /// Enters a file, and says whether it was not there.
  static func insert(_ identity: FileIdentity) -> Bool {
    let key = Key(identity: identity, forkGeneration: ForkGuard.generation)
    return open.withLock { $0.insert(key).inserted }
  }

  /// Forgets a file.
  static func remove(_ identity: FileIdentity) {
    let key = Key(identity: identity, forkGeneration: ForkGuard.generation)
    _ = open.withLock { $0.remove(key) }
  }
}
