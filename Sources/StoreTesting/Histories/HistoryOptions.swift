/// How a history is run.
package struct HistoryOptions: Sendable {
  /// What the devices' clocks show.
  package enum Clock: String, Sendable, CaseIterable {
    /// The history's time, at least a millisecond after the commit before.
    case history
    /// The author's own time. Then only causality orders the commits as the history does: where every device
    /// syncs before and after each of its commits.
    case author
  }

  var remote: RunnerRemote
  /// How many devices; nil for one an author. More authors are folded onto them; where there are fewer, the
  /// commits are dealt out.
  package var devices: Int?
  /// A device syncs at every so many commits of its own.
  package var syncEvery = 1
  /// The chance, from 0 to 1, that a sync that is due is left out: the device was offline.
  package var offlineChance = 0.0
  package var clock = Clock.history
  /// What identities, dealing and chances are made from.
  package var seed: UInt64 = 1
  /// Where the stores are kept afterwards; nil to throw them away. It must not exist, or be empty.
  package var keepDirectory: String?

  /// Devices that a run may have: each has a thread and a memory map.
  package static let devicesMax = 1000

  package init(remote: RunnerRemote) { self.remote = remote }
}
