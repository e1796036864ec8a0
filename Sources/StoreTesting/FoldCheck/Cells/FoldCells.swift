import EventStore
import OperationFormat

/// The cells that a record has in a history, by number: −1 is its existence. The cells of fields follow from
/// 0, in the order of ``groups``; within a group they are in the order of the fields.
struct FoldCells: Hashable {
  let fields: Int

  /// How many elements a set may have, and how many keys a map.
  static let elements = 2

  /// A kind of field, and one of the cells that such a field has.
  struct Group: Sendable {
    var field: FieldKind
    var kind: any FoldCellKind.Type
    /// The number of the element or key; 0 for a kind without them.
    var element: Int
  }

  /// In the order of the kinds.
  static let groups: [Group] = FieldKind.allCases.flatMap { field in
    guard let kind = field.foldCells else { return [Group]() }
    return (0..<kind.count).map { Group(field: field, kind: kind, element: $0) }
  }

  /// The numbers of the cells of fields.
  var ofFields: Range<Int> { 0..<fields * Self.groups.count }

  /// The kind of a cell.
  func kind(of cell: Int) -> any FoldCellKind.Type { group(of: cell)?.kind ?? FoldExistence.self }

  func traits(of cell: Int) -> FoldCellTraits { kind(of: cell).traits }

  /// Nil for the record's existence.
  func group(of cell: Int) -> Group? { cell < 0 ? nil : Self.groups[cell / fields] }

  func field(of cell: Int) -> Int { cell % fields }

  /// The bytes that name the cell's element or key in rows; nil for a cell without one.
  func identity(of cell: Int) -> [UInt8]? { group(of: cell).flatMap { $0.kind.identity($0.element) } }

  /// The number of a field's cell; nil for a kind whose fields consist of units.
  func cell(_ kind: FieldKind, element: Int, of field: Int) -> Int? {
    Self.groups.firstIndex { $0.field == kind && $0.element == element }.map { $0 * fields + field }
  }
}
