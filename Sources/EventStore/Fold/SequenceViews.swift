import OperationFormat

/// A list or a text of a record.
struct SequenceCell: Hashable {
  var state: StateNumber
  var record: UInt32
  var cell: CellNumber
}

/// What is known of what one identity has seen of sequences, from one of its insertions to its next.
///
/// It is dropped as soon as another identity's transaction is folded, or one that has seen more.
struct SequenceViews {
  private var viewpoint: Viewpoint?
  private var views: [SequenceCell: SequenceView] = [:]

  /// Sequences about which something is kept: it is a cache.
  private static let cellsMax = 64

  /// Takes what is known of a sequence out; it is put back with ``put(_:of:_:_:)``.
  mutating func take(
    of cell: CellNumber, _ record: UInt32, _ state: StateNumber, _ viewpoint: Viewpoint
  ) -> SequenceView {
    if !(self.viewpoint?.isLike(viewpoint) ?? false) {
      views.removeAll()
      self.viewpoint = viewpoint
    }
    let known = views.removeValue(forKey: SequenceCell(state: state, record: record, cell: cell))
    var view = known ?? SequenceView()
    view.seesOthers = viewpoint.base != nil || !viewpoint.lineage.isEmpty || viewpoint.seesAllPlaced
    return view
  }

  mutating func put(_ view: SequenceView, of cell: CellNumber, _ record: UInt32, _ state: StateNumber) {
    if views.count >= Self.cellsMax { views.removeAll() }
    views[SequenceCell(state: state, record: record, cell: cell)] = view
  }

  mutating func removeAll() {
    views.removeAll()
    viewpoint = nil
  }
}

extension Viewpoint {
  /// Whether a later transaction of the same identity has seen the same of others.
  fileprivate func isLike(_ other: Viewpoint) -> Bool {
    zone == other.zone && replica == other.replica && epoch == other.epoch
      && base?.incarnation == other.base?.incarnation && base?.offset == other.base?.offset
      && seesAllPlaced == other.seesAllPlaced
      && lineage.elementsEqual(other.lineage) { $0 == $1 }
  }
}
