import OperationFormat

/// Renames the units of lists and texts in transactions that get another epoch.
///
/// A lane numbers its units in a cell from 0. If a lane is cut in two, the first part keeps its units, and
/// those of the second part are counted from 0 again, as units of the new lane.
struct UnitRenaming {
  struct Cell: Hashable {
    var record: Name
    var field: Name
    var isText: Bool
  }

  /// The units of one cell that get new names.
  struct Units {
    /// The lane that is cut in two.
    var old: UnitMaker
    /// The second part's lane, for transactions of a third one; nil for those of the second part itself.
    var new: UnitMaker?
    /// How many units stay in the old lane.
    var kept: UInt64
  }

  /// The lane that is cut in two.
  let old: UnitMaker
  /// The second part's lane, for transactions of a third one; nil for those of the second part itself.
  var new: UnitMaker?
  /// Of each cell that the second part inserts into, how many units stay in the old lane; in the order of
  /// first insertions.
  private(set) var kept: [(cell: Cell, units: UInt64)] = []
  private var places: [Cell: Int] = [:]

  /// - Parameters:
  ///   - transactions: the transactions that get another epoch: all of the old lane from one on.
  ///   - count: returns how many units the old lane has inserted into a list or a text of a record in all.
  init(
    of old: UnitMaker, in transactions: [LogTransaction],
    count: (_ record: Name, _ field: Name, _ isText: Bool) throws -> UInt64
  ) throws {
    self.old = old
    for operation in transactions.lazy.flatMap(\.operations) {
      guard case .update(let record, _, let field, let change) = operation, change.insertedUnits > 0,
        let cell = Self.cell(of: change, record, field)
      else { continue }
      let place = places[cell] ?? kept.count
      places[cell] = place
      if place == kept.count { kept.append((cell, 0)) }
      // First the count of the second part; subtracted from all below.
      kept[place].units += change.insertedUnits
    }
    for (place, (cell, made)) in kept.enumerated() {
      let all = try count(cell.record, cell.field, cell.isText)
      kept[place].units = all - min(made, all)
    }
  }

  /// The operations with renamed units; nil if they name no units of the lane.
  func renamed(_ operations: [LogOperation]) -> [LogOperation]? {
    var renamed = operations
    for (index, operation) in operations.enumerated() {
      guard case .update(let record, let type, let field, let change) = operation,
        let cell = Self.cell(of: change, record, field)
      else { continue }
      // A cell that the second part inserts nothing into has only units of the first part.
      let units = Units(old: old, new: new, kept: places[cell].map { kept[$0].units } ?? .max)
      renamed[index] = .update(record: record, type: type, field: field, units.renamed(change))
    }
    return renamed == operations ? nil : renamed
  }

  private static func cell(of change: FieldChange, _ record: Name, _ field: Name) -> Cell? {
    let kind = change.fieldKind
    guard kind.layout == .units else { return nil }
    return Cell(record: record, field: field, isText: kind.with { $0.unitsAreScalars })
  }
}

/// Renamings of several lanes, to be looked up by the units that a transaction names.
struct UnitRenamings {
  /// Renamings for transactions of other lanes, by the lane that was cut.
  private var ofOthers: [UnitMaker: UnitRenaming] = [:]
  /// The renaming of the transactions' own lane.
  private var own: UnitRenaming?

  var isEmpty: Bool { own == nil && ofOthers.isEmpty }

  mutating func add(_ renaming: UnitRenaming) {
    if renaming.new == nil { own = renaming } else { ofOthers[renaming.old] = renaming }
  }

  /// The renamings of units that operations name, in the order in which they name them first.
  func renamings(of operations: [LogOperation]) -> [UnitRenaming] {
    var found = own.map { [$0] } ?? []
    guard !ofOthers.isEmpty else { return found }
    var seen: Set<UnitMaker> = []
    for case .update(_, _, _, let change) in operations {
      for unit in change.namedUnits {
        guard let maker = unit.maker, let renaming = ofOthers[maker], seen.insert(maker).inserted else {
          continue
        }
        found.append(renaming)
      }
    }
    return found
  }
}

extension UnitRenaming.Units: UnitNames {
  /// The change with renamed units.
  func renamed(_ change: FieldChange) -> FieldChange {
    change.fieldKind.with { $0.change(change, renamed: self) }
  }

  private func isOld(_ unit: UnitReference) -> Bool {
    unit.maker == old || unit.maker == nil && new == nil
  }

  func renamed(_ unit: UnitReference) -> UnitReference {
    guard isOld(unit) else { return unit }
    return unit.number < kept
      ? UnitReference(maker: old, number: unit.number)
      : UnitReference(maker: new, number: unit.number - kept)
  }

  func renamed(_ run: UnitSpan) -> [UnitSpan] {
    let first = run.first.number
    guard isOld(run.first), first < kept, run.count > kept - first else {
      return [UnitSpan(first: renamed(run.first), count: run.count)]
    }
    return [
      UnitSpan(first: renamed(run.first), count: kept - first),
      UnitSpan(first: UnitReference(maker: new, number: 0), count: run.count - (kept - first)),
    ]
  }
}

extension FieldChange {
  /// The units that it names: of each run, the first.
  var namedUnits: [UnitReference] { fieldKind.with { $0.namedUnits(in: self) } }

  /// How many units it inserts.
  var insertedUnits: UInt64 { fieldKind.with { $0.insertedUnits(by: self) } }
}
