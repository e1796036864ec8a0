/// A log that a replica had when it wrote, and how much of it has always stood. No replica can look at it.
struct Source: Hashable {
  /// The log as it was then.
  let log: Int
  /// Up to which offset nothing else ever stood in its place. What the log has only lost at its end may come
  /// back.
  var kept: Int

  /// Notes what the log is now.
  mutating func note(_ now: Int, in tree: LogTree) {
    let shared = tree.shared(log, now)
    if shared != now { kept = min(kept, tree.offset(of: shared)) }
  }
}
