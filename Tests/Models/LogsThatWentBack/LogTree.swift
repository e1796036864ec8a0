/// All logs that a search meets, as one tree.
///
/// A node is a log up to one entry: what a chain hash names. Two logs with the same entries are the same
/// node. So a log is one number, and to compare two chains is to compare two numbers.
final class LogTree {
  /// The empty log.
  static let root = 0

  private struct Step: Hashable {
    let parent: Int
    let entry: Entry
  }

  private var steps: [Step?] = [nil]
  private var offsets = [0]
  private var nodes: [Step: Int] = [:]

  /// The log with one more entry.
  func appending(_ entry: Entry, to log: Int) -> Int {
    let step = Step(parent: log, entry: entry)
    if let known = nodes[step] { return known }
    steps.append(step)
    offsets.append(offsets[log] + 1)
    nodes[step] = steps.count - 1
    return steps.count - 1
  }

  /// How many entries a log has: the offset of its last one.
  func offset(of log: Int) -> Int { offsets[log] }

  /// The last entry of a log that is not empty.
  func entry(of log: Int) -> Entry { steps[log]!.entry }

  /// The log's first entries, up to an offset.
  func prefix(of log: Int, upTo offset: Int) -> Int {
    var node = log
    while offsets[node] > offset { node = steps[node]!.parent }
    return node
  }

  func isPrefix(_ log: Int, of other: Int) -> Bool { prefix(of: other, upTo: offsets[log]) == log }

  /// The longest log that both begin with.
  func shared(_ first: Int, _ second: Int) -> Int {
    let length = min(offsets[first], offsets[second])
    var (one, other) = (prefix(of: first, upTo: length), prefix(of: second, upTo: length))
    while one != other { (one, other) = (steps[one]!.parent, steps[other]!.parent) }
    return one
  }

  /// The nodes from after an offset to a log's end, in the log's order.
  func path(to log: Int, after offset: Int = 0) -> [Int] {
    var path: [Int] = []
    var node = log
    while offsets[node] > offset {
      path.append(node)
      node = steps[node]!.parent
    }
    return path.reversed()
  }

  /// The transactions of a log.
  func transactions(of log: Int) -> NumberSet {
    var set = NumberSet()
    var node = log
    while let step = steps[node] {
      set.insert(step.entry.transaction)
      node = step.parent
    }
    return set
  }
}
