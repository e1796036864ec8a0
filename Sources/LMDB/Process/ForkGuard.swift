import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Knows whether this process is a fork of the one that opened an environment.
///
/// LMDB's locks, reader slots and map belong to the process that opened it; a child that used or closed them
/// would harm its parent. (lmdb.h, Caveats)
enum ForkGuard {
  /// How many forks lie between this process and the first that used this library.
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
