import OperationFormat

/// A list or a text of a record.
struct UnitOrderCell: Hashable {
  var state: StateNumber
  var record: UInt32
  var cell: CellNumber
}

/// Caches what one identity has seen of each cell's units, between its insertions.
///
/// A transaction of another identity, or one that has seen more, clears it. What follows from a base alone
/// stays for other identities with that base.
struct UnitOrderViews {
  private struct BaseCell: Hashable {
    var incarnation: IncarnationNumber
    var offset: UInt64
    var cell: UnitOrderCell

    init(_ base: BaseNumbers, _ cell: UnitOrderCell) {
      (incarnation, offset) = base
      self.cell = cell
    }
  }

  private var context: CausalContext?
  private var views: [UnitOrderCell: UnitOrderView] = [:]
  private var successorsOfBases: [BaseCell: [UnitID?: UnitID?]] = [:]

  /// Lists and texts about which something is kept: it is a cache.
  private static let cellsMax = 64

  /// Takes what is known of a cell out; it is put back with ``put(_:of:_:_:)``.
  mutating func take(
    of cell: CellNumber, _ record: UInt32, _ state: StateNumber, _ context: CausalContext
  ) -> UnitOrderView {
    if !(self.context?.isLike(context) ?? false) {
      views.removeAll()
      self.context = context
    }
    let place = UnitOrderCell(state: state, record: record, cell: cell)
    let known = views.removeValue(forKey: place)
    var view = known ?? UnitOrderView()
    // All see what is compacted.
    view.seesOthers =
      context.base != nil || !context.lineage.isEmpty || context.seesAllPlaced || context.floor != nil
    if let base = context.base, context.lineage.isEmpty, !context.seesAllPlaced {
      view.ofBase =
        successorsOfBases.isEmpty
        ? [:] : successorsOfBases.removeValue(forKey: BaseCell(base, place)) ?? [:]
    }
    return view
  }

  /// - Parameter isPlaced: whether all that a base says has its place, so that nothing more will be seen with
  ///   it.
  mutating func put(
    _ view: consuming UnitOrderView, of cell: CellNumber, _ record: UInt32, _ state: StateNumber,
    isPlaced: (_ base: BaseNumbers) throws -> Bool
  ) rethrows {
    let place = UnitOrderCell(state: state, record: record, cell: cell)
    let ofBase = view.ofBase.take() ?? [:]
    if views.count >= Self.cellsMax { views.removeAll() }
    views[place] = view
    guard !ofBase.isEmpty, let base = context?.base, try isPlaced(base) else { return }
    if successorsOfBases.count >= Self.cellsMax { successorsOfBases.removeAll() }
    successorsOfBases[BaseCell(base, place)] = ofBase
  }

  mutating func removeAll() {
    views.removeAll()
    successorsOfBases.removeAll()
    context = nil
  }
}

extension CausalContext {
  /// Whether a later transaction of the same identity has seen the same of others.
  fileprivate func isLike(_ other: CausalContext) -> Bool {
    zone == other.zone && replica == other.replica && epoch == other.epoch
      && base?.incarnation == other.base?.incarnation && base?.offset == other.base?.offset
      && seesAllPlaced == other.seesAllPlaced
      && lineage.elementsEqual(other.lineage) { $0 == $1 }
  }
}
