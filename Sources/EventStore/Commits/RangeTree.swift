/// Ranges of keys, each of an owner: those around a key are found in steps that grow with their number and with the
/// logarithm of all.
///
/// It is a balanced tree in an array that is ordered by the lower bounds; each node knows the greatest upper bound below it
/// (Cormen and others: Introduction to Algorithms, interval trees). Some new ranges are beside it until it is built again.
struct RangeTree {
  private struct Entry {
    let range: Range<ReadFootprint.IndexKey>
    let owner: UInt64
    /// Which ranges of its owner it belongs to: others are gone.
    let addition: UInt64
    /// The greatest upper bound of this node and those below it.
    var greatest: ReadFootprint.IndexKey
  }

  private var tree: [Entry] = []
  private var added: [Entry] = []
  /// The owners that have ranges, and which.
  private var additions: [UInt64: UInt64] = [:]
  private var lastAddition: UInt64 = 0

  var isEmpty: Bool { additions.isEmpty }
  var owners: Dictionary<UInt64, UInt64>.Keys { additions.keys }

  /// Adds the ranges of an owner that has none.
  mutating func add(_ ranges: [Range<ReadFootprint.IndexKey>], of owner: UInt64) {
    lastAddition += 1
    additions[owner] = lastAddition
    // Owners that read again and again leave what is gone.
    if added.count > 2 * (Self.addedMax + additions.count) { build() }
    for range in ranges {
      added.append(Entry(range: range, owner: owner, addition: lastAddition, greatest: range.upperBound))
    }
  }

  /// So many ranges may be beside the tree when keys are looked for.
  private static let addedMax = 32

  mutating func remove(_ owner: UInt64) { additions[owner] = nil }

  /// Calls a closure with the owner of each range that contains a key.
  ///
  /// - Complexity: O(log n) in the ranges, and linear in those that contain it; after some additions, once O(n).
  mutating func forEach(around key: ReadFootprint.IndexKey, _ body: (UInt64) -> Void) {
    if added.count > Self.addedMax { build() }
    visit(tree.indices, key, body)
    for entry in added where entry.range.contains(key) && isThere(entry) { body(entry.owner) }
  }

  private func visit(_ nodes: Range<Int>, _ key: ReadFootprint.IndexKey, _ body: (UInt64) -> Void) {
    guard !nodes.isEmpty else { return }
    let middle = nodes.lowerBound + nodes.count / 2
    guard key < tree[middle].greatest else { return }
    visit(nodes.lowerBound..<middle, key, body)
    let entry = tree[middle]
    guard entry.range.lowerBound <= key else { return }
    if key < entry.range.upperBound, isThere(entry) { body(entry.owner) }
    visit(middle + 1..<nodes.upperBound, key, body)
  }

  private mutating func build() {
    let (old, new) = (
      tree.filter(isThere), added.filter(isThere).sorted { $0.range.lowerBound < $1.range.lowerBound }
    )
    added = []
    tree = []
    tree.reserveCapacity(old.count + new.count)
    var next = 0
    for entry in old {
      while next < new.count, new[next].range.lowerBound < entry.range.lowerBound {
        tree.append(new[next])
        next += 1
      }
      tree.append(entry)
    }
    tree += new[next...]
    _ = findGreatest(in: tree.indices)
  }

  private func isThere(_ entry: Entry) -> Bool { additions[entry.owner] == entry.addition }

  /// Sets the greatest upper bounds of nodes, and returns that of all.
  private mutating func findGreatest(in nodes: Range<Int>) -> ReadFootprint.IndexKey? {
    guard !nodes.isEmpty else { return nil }
    let middle = nodes.lowerBound + nodes.count / 2
    var greatest = tree[middle].range.upperBound
    for part in [nodes.lowerBound..<middle, middle + 1..<nodes.upperBound] {
      if let other = findGreatest(in: part), greatest < other { greatest = other }
    }
    tree[middle].greatest = greatest
    return greatest
  }
}
