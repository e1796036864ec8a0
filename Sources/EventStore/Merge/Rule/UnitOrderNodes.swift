/// Nodes of the sequences that were folded last, from one operation to the next.
///
/// They are dropped with ``Fold/reset()``: until then the rows of sequences change through the fold alone.
struct UnitOrderNodes {
  private var caches: [UnitOrderCell: NodeCache] = [:]

  /// Sequences and leaves of each that are kept: 10 MB at the most.
  private static let sequencesMax = 8
  private static let leavesMax = 64

  mutating func nodes(of sequence: UnitOrderCell) -> NodeCache {
    if let cache = caches[sequence] { return cache }
    if caches.count >= Self.sequencesMax { caches.removeAll() }
    let cache = NodeCache(leavesMax: Self.leavesMax)
    caches[sequence] = cache
    return cache
  }

  mutating func removeAll() { if !caches.isEmpty { caches.removeAll() } }
}
