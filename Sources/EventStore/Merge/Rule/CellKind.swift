import OperationFormat

/// What a record's row has of a cell.
enum CellLayout {
  /// Its heads.
  case heads
  /// How many elements it has. Each has its own row.
  case elements
  /// The root of its units: see ``UnitOrderRoot``.
  case units
}

/// What a kind of cell says of itself: how its cells are read, compared and digested.
///
/// All of a kind stands in its own file. Who works on a cell of any kind calls it through
/// ``FieldKind/with(_:)`` or ``CellNumber/withKind(_:)``, the one switch over kinds, which the compiler turns
/// into direct calls.
protocol CellKind {
  static var layout: CellLayout { get }
  /// Whether it shows the greatest of its heads, or of those of each element, so that the others lose.
  static var showsGreatest: Bool { get }
  /// Whether two heads that have not seen each other, of one cell or element, are a conflict.
  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool
  /// All heads, greatest first; of elements one by one.
  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead]
  /// The heads of the cell, or of its elements, that are in conflict.
  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict]
  /// Appends what stands for the cell in a digest: see `StateDigest`.
  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws
}

/// What a kind of a field's cells says of itself: also how operations change its cells.
protocol FieldCellKind: CellKind {
  /// The operations on such a cell.
  associatedtype Operation: CaseIterable & RawRepresentable<UInt64>

  // MARK: Folding

  /// Whether a sum is kept of the heads that are kept apart.
  static var sumsHeads: Bool { get }
  /// Whether what stands for an element is its encoded value, which may name records.
  static var identityIsValue: Bool { get }
  /// Whether its units are the scalars of a text; else they are places of a list.
  static var unitsAreScalars: Bool { get }
  /// Folds an operation into the loaded record.
  static func apply<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>) throws
  /// Takes away what a `create` has seen.
  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws
  /// Leaves in the cell of the loaded record what it shows.
  ///
  /// - Parameter keeps: whether anything stays but the numbers of units.
  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>) throws
  /// Gives the heads that an operation made another effective timestamp.
  ///
  /// - Returns: whether the cell may show something else.
  static func retime<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool

  // MARK: Reading

  /// What it reads; nil if it shows nothing.
  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value?
  /// How many elements, units or heads it has.
  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int
  /// The changes that make an empty cell show what this one does.
  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange]

  // MARK: Explaining

  /// What a change does to the heads of the cell; nil if nothing.
  static func effect(of change: FieldChange) -> CellEffect?
  /// Where an explanation takes the heads of the cell from.
  static var explainedHeads: ExplainedHeads { get }
  /// What a change does to units of a list or a text.
  static func edit(by change: FieldChange) -> UnitEdit?
  /// The change that lets a loser of a conflict win; nil if it is none of this kind.
  static func change(restoring content: CellHead.Content) -> FieldChange?

  // MARK: Units

  /// How many units of a list or a text a change inserts.
  static func insertedUnits(by change: FieldChange) -> UInt64
  /// The units that a change names, of each run the first.
  static func namedUnits(in change: FieldChange) -> [UnitReference]
  /// A change with other names for its units.
  static func change(_ change: FieldChange, renamed names: some UnitNames) -> FieldChange
}

/// Gives units other names.
protocol UnitNames {
  func renamed(_ unit: UnitReference) -> UnitReference
  func renamed(_ run: UnitSpan) -> [UnitSpan]
}

/// What holds for kinds without units.
extension FieldCellKind {
  static var unitsAreScalars: Bool { false }
  static var explainedHeads: ExplainedHeads { .ofCell }
  static func edit(by change: FieldChange) -> UnitEdit? { nil }
  static func insertedUnits(by change: FieldChange) -> UInt64 { 0 }
  static func namedUnits(in change: FieldChange) -> [UnitReference] { [] }
  static func change(_ change: FieldChange, renamed names: some UnitNames) -> FieldChange { change }
}

extension FieldCellKind {
  static var operations: [OperationKind] { Operation.allCases.map { OperationKind(rawValue: $0.rawValue) } }

  /// Which of its operations it is.
  static func operation(_ kind: OperationKind) throws(FormatError) -> Operation {
    guard let operation = Operation(rawValue: kind.rawValue) else {
      throw FormatError(
        .unknownTag, at: 0, in: "operation.kind", expected: "one on a field", found: "\(kind.rawValue)")
    }
    return operation
  }
}

/// The heads of a cell, or of one element of it, that have not seen each other, greatest first.
struct CellConflict {
  /// The key in a map.
  var key: Name?
  var heads: [CellHead]
}

/// What a change does to the heads of a cell.
struct CellEffect {
  /// What its head says; nil if it only removes heads.
  var content: CellHead.Content?
  /// The element that it works on; nil for all.
  var element: Value?
  /// Whether it replaces what it has seen.
  var replaces = true
}

/// Where an explanation takes the heads of a cell from.
enum ExplainedHeads {
  /// The cell has them.
  case ofCell
  /// The runs of a text stand for them.
  case ofTextRuns
  /// They are the contributions, in their order.
  case ofContributions
}

/// What a change does to units of a list or a text.
enum UnitEdit {
  /// - Parameter text: the scalars that were inserted; nil in a list.
  case inserted(text: String?)
  case removed(units: UInt64)
  case replaced
  case moved
}

extension FieldKind {
  /// What a record's row has of such a cell.
  @inline(__always) var layout: CellLayout { with { $0.layout } }
}

extension CellNumber {
  /// What the row has of the cell; nil for a kind of a newer version.
  @inline(__always) var layout: CellLayout? { kind?.layout }

  /// Whether its units are the scalars of a text.
  @inline(__always) var hasScalars: Bool { kind?.with { $0.unitsAreScalars } ?? false }

  /// Whether what stands in the record's row are heads: of a register, a counter, contributions or a record's
  /// existence.
  @inline(__always) var isOfHeads: Bool { isRegister || layout == .heads }

  /// Whether a cell that is there shows anything: a list or a text keeps its units when all of them were
  /// removed.
  @inline(__always)
  func shows(_ winner: RecordRow.Winner, in row: StoredRow) throws(FormatError) -> Bool {
    if isRegister { return true }
    guard layout == .units else { return true }
    return try UnitOrderRoot(row.extracting(winner.payload)).visible > 0
  }
}

extension InlineHeads {
  /// Whether a cell with only these heads has losers: two that conflict.
  func areContested(_ cell: CellNumber, in row: RawSpan) -> Bool {
    for index in 1..<max(1, count)
    where Self.conflict(cell, row.extracting(self[0].payload), row.extracting(self[index].payload)) {
      return true
    }
    return false
  }

  /// Whether some of the heads conflict with one that comes to them.
  func areContested(_ cell: CellNumber, in row: RawSpan, by payload: RawSpan) -> Bool {
    for index in 0..<count where Self.conflict(cell, payload, row.extracting(self[index].payload)) {
      return true
    }
    return false
  }

  private static func conflict(_ cell: CellNumber, _ one: RawSpan, _ other: RawSpan) -> Bool {
    cell.withKind { $0.conflict(one, other) } ?? false
  }
}
