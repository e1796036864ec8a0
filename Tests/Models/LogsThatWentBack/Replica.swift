/// What one replica holds.
struct Replica: Hashable {
  /// The log as it has read it: its token.
  var read = LogTree.root
  /// What it has yet to send, in order.
  var queue: [Entry] = []
  /// What it has sent and got an answer for, beyond what it has read: the logs up to these entries.
  var ahead: [Int] = []
  /// Whether it found the log's end when it last read. Only then it sends.
  var isAtEnd = false
  /// Whether it syncs no more.
  var isGone = false

  // What follows decides nothing by the right rules.

  /// All transactions that it ever had: shows what got lost.
  var had = NumberSet()
  /// The logs that it parted from, until it has found all of their transactions in the log: what a write had
  /// really seen.
  var lostLogs: [Source] = []
  /// The limits that it has set: a wrong rule observes them.
  var ownLimits: [Entry] = []
}
