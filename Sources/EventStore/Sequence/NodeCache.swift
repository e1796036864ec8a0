/// Nodes of one sequence as they were read or written last. An operation comes by a node several times: on the
/// way down to a unit, to its neighbours, and up again with new counts. It reads and parses the node once.
///
/// It belongs to one ``UnitSequence``. While that one lives, the rows change through it alone.
final class NodeCache {
  private var inners: [(node: NodeNumber, inner: InnerNode)] = []
  private var leaves: [(node: NodeNumber, leaf: Leaf)] = []

  /// A way from the root down, and another one.
  private static let innersMax = 8
  /// A leaf and its neighbour.
  private static let leavesMax = 2

  func inner(_ node: NodeNumber) -> InnerNode? { inners.first { $0.node == node }?.inner }

  func leaf(_ node: NodeNumber) -> Leaf? { leaves.first { $0.node == node }?.leaf }

  func keep(_ inner: InnerNode, _ node: NodeNumber) {
    if let index = inners.firstIndex(where: { $0.node == node }) {
      inners[index].inner = inner
      return
    }
    if inners.count == Self.innersMax { inners.removeFirst() }
    inners.append((node, inner))
  }

  /// Keeps a leaf as its row has it.
  func keep(_ leaf: Leaf, _ node: NodeNumber) {
    if leaves.count == Self.leavesMax { leaves.removeFirst() }
    leaves.append((node, leaf))
  }

  /// Forgets a node whose row changes or goes.
  func forget(_ node: NodeNumber) {
    inners.removeAll { $0.node == node }
    leaves.removeAll { $0.node == node }
  }
}
