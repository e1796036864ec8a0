/// Rows of one unit order as they were read or written last, parsed. An operation comes by a node several
/// times: on the way down to a unit, to its neighbours, and up again with new counts; and mostly the next
/// operation comes by the same ones.
///
/// It belongs to one ``UnitOrder``, or to those of one cell that follow each other. While it lives, the rows
/// change only through them.
final class NodeCache {
  private var inners: [NodeNumber: InnerNode] = [:]
  private var leaves: [NodeNumber: Leaf] = [:]
  private let leavesMax: Int
  /// The row of an inserter's last units, which its next ones come into.
  private var makers: (inserter: Inserter, row: MakerRow)?
  /// An inserter's row of the greatest first number.
  private var places: (inserter: Inserter, row: PlaceRow)?

  /// A leaf takes up to about 20 KB of memory.
  init(leavesMax: Int = 4) { self.leavesMax = leavesMax }

  // MARK: Nodes

  func inner(_ node: NodeNumber) -> InnerNode? { inners[node] }

  func leaf(_ node: NodeNumber) -> Leaf? { leaves[node] }

  /// Keeps a node as its row has it.
  func keep(_ inner: InnerNode, _ node: NodeNumber) {
    if inners.count >= 2 * leavesMax { inners.removeAll(keepingCapacity: true) }
    inners[node] = inner
  }

  func keep(_ leaf: Leaf, _ node: NodeNumber) {
    if leaves.count >= leavesMax { leaves.removeAll(keepingCapacity: true) }
    leaves[node] = leaf
  }

  /// Forgets a node whose row changes or goes.
  func forget(_ node: NodeNumber) {
    inners[node] = nil
    leaves[node] = nil
  }

  // MARK: Inserters

  /// The row that tells who made a unit, if it is kept.
  func makers(of unit: UnitID) -> MakerRow? {
    guard let makers, makers.inserter == unit.inserter, makers.row.first <= unit.number else { return nil }
    return makers.row
  }

  func keepLast(_ row: MakerRow, of inserter: Inserter) { makers = (inserter, row) }

  /// The row that tells which leaf has a unit, if it is kept.
  func places(of unit: UnitID) -> PlaceRow? {
    guard let places, places.inserter == unit.inserter, places.row.first <= unit.number else { return nil }
    return places.row
  }

  func keepLast(_ row: PlaceRow, of inserter: Inserter) { places = (inserter, row) }

  /// Keeps a row that was written, if it is the last one of an inserter one of whose rows is kept.
  func update(_ row: PlaceRow, of inserter: Inserter) {
    guard let places, places.inserter == inserter, places.row.first <= row.first else { return }
    self.places = (inserter, row)
  }
}
