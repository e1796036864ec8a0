/// Nodes of the lists and texts that were folded last, from one operation to the next.
///
/// They are dropped with ``Fold/reset()``: until then only the fold changes the rows of unit orders.
struct UnitOrderNodes {
  private var caches: [UnitOrderCell: NodeCache] = [:]

  /// Lists and texts, and leaves of each, that are kept: 10 MB at the most.
  private static let cellsMax = 8
  private static let leavesMax = 64

  mutating func nodes(of cell: UnitOrderCell) -> NodeCache {
    if let cache = caches[cell] { return cache }
    if caches.count >= Self.cellsMax { caches.removeAll() }
    let cache = NodeCache(leavesMax: Self.leavesMax)
    caches[cell] = cache
    return cache
  }

  mutating func removeAll() { if !caches.isEmpty { caches.removeAll() } }
}
