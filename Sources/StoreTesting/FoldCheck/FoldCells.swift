import EventStore
import OperationFormat

/// The cells that a record has in a history, by number: −1 is its existence, then come the registers of its fields, their
/// counters, the elements of their sets, the keys of their maps, and what is contributed to them.
struct FoldCells: Hashable {
  let fields: Int

  /// How many elements a set may have, and how many keys a map.
  static let elements = 2

  /// The encoded elements of sets: one that is its own name, and one that is named by its hash.
  static let setElements: [FoldValue] = [FoldValue(rawValue: 1), FoldValue(rawValue: 8)]
  /// The keys of maps, likewise.
  static let mapKeys: [Name] = ["k", Name(String(repeating: "k", count: 200))]

  /// What a cell is.
  enum Kind: Hashable {
    case existence
    case register
    case counter
    case setElement(Int)
    case mapKey(Int)
    case contributions
  }

  /// The numbers of the cells of fields.
  var ofFields: Range<Int> { 0..<fields * (3 + 2 * Self.elements) }

  func counter(of field: Int) -> Int { fields + field }

  func setElement(_ element: Int, of field: Int) -> Int { (2 + element) * fields + field }

  func mapKey(_ key: Int, of field: Int) -> Int { (2 + Self.elements + key) * fields + field }

  func contributions(of field: Int) -> Int { (2 + 2 * Self.elements) * fields + field }

  func kind(of cell: Int) -> Kind {
    if cell < 0 { return .existence }
    switch cell / fields {
    case 0: return .register
    case 1: return .counter
    case 2..<2 + Self.elements: return .setElement(cell / fields - 2)
    case 2 + Self.elements..<2 + 2 * Self.elements: return .mapKey(cell / fields - 2 - Self.elements)
    default: return .contributions
    }
  }

  func field(of cell: Int) -> Int { cell % fields }

  /// The cell of a field that an operation works on.
  func cell(of operation: FoldOperation) -> Int? {
    let field = Int(operation.field)
    return switch operation.kind {
    case .create, .delete, .moveAway: nil
    case .set: field
    case .add: counter(of: field)
    case .insert, .remove: setElement(Int(operation.element), of: field)
    case .put, .removeKey: mapKey(Int(operation.element), of: field)
    case .contribute: contributions(of: field)
    case .insertText, .removeText, .insertElements, .moveElement, .replaceElement, .removeElements: nil
    }
  }

  /// What stands for an element or a key in rows.
  static func identity(_ kind: Kind) -> [UInt8]? {
    switch kind {
    case .existence, .register, .counter, .contributions: nil
    case .setElement(let element): setElements[element].payload
    case .mapKey(let key): Array(mapKeys[key].rawValue.utf8)
    }
  }
}
