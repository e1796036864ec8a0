import Synchronization

/// Shares the address space of the process among its environments, so that many of them leave some for each other, and for
/// heaps and threads.
///
/// What one asks for it gets while few are open; each gets at most a 32nd of what is left for all. Its map grows when it
/// is full.
enum AddressSpace {
  /// What environments get together, in bytes: half of the 128 TiB that a process has on 64-bit machines.
  private static let budget = 64 << 40

  private static let taken = Mutex(0)

  /// How much an environment may reserve that asks for so much, in bytes.
  ///
  /// - Parameter least: what it needs in any case.
  static func share(of wanted: Int, least: Int) -> Int {
    taken.withLock { taken in max(least, min(wanted, max(0, budget - taken) / 32)) }
  }

  /// Notes that an environment has reserved so much, in bytes.
  static func take(_ bytes: Int) { taken.withLock { $0 += bytes } }

  /// Notes that an environment is closed that had reserved so much.
  static func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}
