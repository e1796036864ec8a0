import EventStore
import OperationFormat

/// The cells that a record has in a history, by number: −1 is its existence, then come the registers of its fields, their
/// counters, the elements of their sets, and the keys of their maps.
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
  }

  /// The numbers of the cells of fields.
  var ofFields: Range<Int> { 0..<fields * (2 + 2 * Self.elements) }

  func counter(of field: Int) -> Int { fields + field }

  func setElement(_ element: Int, of field: Int) -> Int { (2 + element) * fields + field }

  func mapKey(_ key: Int, of field: Int) -> Int { (2 + Self.elements + key) * fields + field }

  func kind(of cell: Int) -> Kind {
    if cell < 0 { return .existence }
    switch cell / fields {
    case 0: return .register
    case 1: return .counter
    case 2..<2 + Self.elements: return .setElement(cell / fields - 2)
    default: return .mapKey(cell / fields - 2 - Self.elements)
    }
  }

  func field(of cell: Int) -> Int { cell % fields }

  /// The cell of a field that an operation works on.
  func cell(of operation: FoldOperation) -> Int? {
    let field = Int(operation.field)
    return switch operation.kind {
    case .create, .delete: nil
    case .set: field
    case .add: counter(of: field)
    case .insert, .remove: setElement(Int(operation.element), of: field)
    case .put, .removeKey: mapKey(Int(operation.element), of: field)
    case .insertText, .removeText, .insertElements, .moveElement, .replaceElement, .removeElements: nil
    }
  }

  /// What stands for an element or a key in rows.
  static func identity(_ kind: Kind) -> [UInt8]? {
    switch kind {
    case .existence, .register, .counter: nil
    case .setElement(let element): setElements[element].payload
    case .mapKey(let key): Array(mapKeys[key].rawValue.utf8)
    }
  }
}
