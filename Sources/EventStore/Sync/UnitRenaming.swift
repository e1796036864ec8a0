import OperationFormat

/// Renames the units of lists and texts in transactions that get another epoch.
///
/// A lane numbers what it inserts into a cell from 0. Of a lane that is cut in two, the first part keeps its units; those
/// of the second part are counted from 0 again, as the new lane's.
struct UnitRenaming {
  struct Cell: Hashable {
    var record: Name
    var field: Name
    var isText: Bool
  }

  /// The units of one cell that get other names.
  struct Units {
    /// The lane that is cut in two.
    var old: UnitMaker
    /// The second part's lane, for transactions of a third one; nil for those of the second part itself.
    var new: UnitMaker?
    /// How many stay the old lane's.
    var kept: UInt64
  }

  /// The lane that is cut in two.
  let old: UnitMaker
  /// The second part's lane, for transactions of a third one; nil for those of the second part itself.
  var new: UnitMaker?
  /// How many units stay the old lane's, of each cell that the second part inserts into, in the order of first insertions.
  private(set) var kept: [(cell: Cell, units: UInt64)] = []
  private var places: [Cell: Int] = [:]

  /// - Parameters:
  ///   - transactions: those that get another epoch: all of the old lane's from one on.
  ///   - count: how many units the old lane has inserted into a list or a text of a record, in all.
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
      // Counted first, and taken from all of them below.
      kept[place].units += change.insertedUnits
    }
    for (place, (cell, made)) in kept.enumerated() {
      let all = try count(cell.record, cell.field, cell.isText)
      kept[place].units = all - min(made, all)
    }
  }

  /// The operations with their units renamed; nil if they name none of the lane.
  func renamed(_ operations: [LogOperation]) -> [LogOperation]? {
    var renamed = operations
    for (index, operation) in operations.enumerated() {
      guard case .update(let record, let type, let field, let change) = operation,
        let cell = Self.cell(of: change, record, field)
      else { continue }
      // A cell that the second part inserts nothing into has units of the first part alone.
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

/// Renamings of many lanes, found by the units that a transaction names.
struct UnitRenamings {
  /// Those for transactions of any other lane, each by the lane that was cut.
  private var ofOthers: [UnitMaker: UnitRenaming] = [:]
  /// That of the transactions' own lane.
  private var own: UnitRenaming?

  var isEmpty: Bool { own == nil && ofOthers.isEmpty }

  mutating func add(_ renaming: UnitRenaming) {
    if renaming.new == nil { own = renaming } else { ofOthers[renaming.old] = renaming }
  }

  /// Those that concern what operations name, in the order in which that is named first.
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
  /// A change with its units renamed.
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
  /// The units that it names, of each run the first.
  var namedUnits: [UnitReference] { fieldKind.with { $0.namedUnits(in: self) } }

  /// How many units it inserts.
  var insertedUnits: UInt64 { fieldKind.with { $0.insertedUnits(by: self) } }
}
