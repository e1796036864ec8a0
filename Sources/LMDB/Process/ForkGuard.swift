import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Counts forks, so that an environment can tell whether this process is a child of the one that opened it.
///
/// LMDB's locks, reader slots and map belong to the process that opened it. A child that used or closed them
/// would harm its parent. (lmdb.h, Caveats)
enum ForkGuard {
  /// How many forks separate this process from the first one that used this library.
  static var generation: Int {
    _ = isInstalled
    return generations.load(ordering: .relaxed)
  }

  private static let generations = Atomic(0)

  private static let isInstalled: Bool = {
    let refusal = pthread_atfork(nil, nil) { ForkGuard.generations.add(1, ordering: .relaxed) }
    precondition(refusal == 0, "pthread_atfork refused with error \(refusal)")
    return true
  }()
}
