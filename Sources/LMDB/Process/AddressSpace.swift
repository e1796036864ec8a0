import Synchronization

/// Divides the process's address space among its environments, so that each leaves some to the others, to
/// heaps and to threads.
///
/// An environment gets what it asks for, but at most a 32nd of what is left for all. Its map grows when it is
/// full.
enum AddressSpace {
  /// What all environments together get, in bytes: half of the 128 TiB that a process has on a 64-bit
  /// machine.
  private static let budget = 64 << 40

  private static let taken = Mutex(0)

  /// How much an environment may reserve that asks for `wanted` bytes.
  ///
  /// - Parameter least: what it gets in any case, in bytes.
  static func share(of wanted: Int, least: Int) -> Int {
    taken.withLock { taken in max(least, min(wanted, max(0, budget - taken) / 32)) }
  }

  /// Records that an environment has reserved this many bytes.
  static func take(_ bytes: Int) { taken.withLock { $0 += bytes } }

  /// Records that an environment was closed that had reserved this many bytes.
  static func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}
