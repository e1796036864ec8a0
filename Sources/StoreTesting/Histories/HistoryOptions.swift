/// How a history is run.
package struct HistoryOptions: Sendable {
  /// What the devices' clocks show.
  package enum Clock: String, Sendable, CaseIterable {
    /// The history's time, at least a millisecond after the commit before.
    case history
    /// The author's own time. Then the order of the commits follows from causality only, and equals the
    /// history's if every device syncs before and after each of its commits.
    case author
  }

  var remote: RunnerRemote
  /// How many devices; nil for one per author. If there are more authors than devices, several share one. If
  /// there are fewer, the commits are distributed over the devices.
  package var devices: Int?
  /// After how many commits of its own a device syncs.
  package var syncEvery = 1
  /// The chance, from 0 to 1, that a sync that is due is left out: the device was offline.
  package var offlineChance = 0.0
  package var clock = Clock.history
  /// The seed of identities, of the distribution of commits, and of chances.
  package var seed: UInt64 = 1
  /// Where the stores are kept afterwards; nil to remove them. It must not exist, or be empty.
  package var keepDirectory: String?

  /// Devices that a run may have: each has a thread and a memory map.
  package static let devicesMax = 1000

  package init(remote: RunnerRemote) { self.remote = remote }
}
