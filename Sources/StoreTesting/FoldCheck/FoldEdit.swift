import EventStore
import OperationFormat

/// An edit of a list or a text. The operation's `value` says where, its `element` how much.
enum FoldEdit {
  case insertScalars, removeScalars
  case insertItems, moveItem, replaceItem, removeItems

  /// The edit that takes its place in an empty list or text.
  var inEmpty: FoldEdit {
    switch self {
    case .insertScalars, .removeScalars: .insertScalars
    case .insertItems, .moveItem, .replaceItem, .removeItems: .insertItems
    }
  }

  /// Whether it works on the items of a list, so that a unit may be the place of another unit's item.
  var hasItems: Bool {
    switch self {
    case .insertScalars, .removeScalars: false
    case .insertItems, .moveItem, .replaceItem, .removeItems: true
    }
  }
}

extension FoldOperation {
  /// The change of units that an edit makes if its maker sees `count` of them. If it sees none, it inserts.
  ///
  /// - Parameters:
  ///   - number: a number that differs between operations, from which inserted values are made.
  ///   - origin: gives the unit behind which to insert before an index.
  ///   - units: gives the units in a range of indexes.
  func change(
    _ edit: FoldEdit, count: Int, number: Int, origin: (Int) throws -> UnitReference?,
    units: (Range<Int>) throws -> [UnitSpan]
  ) throws -> FieldChange {
    let place = Int(value.rawValue)
    let amount = 1 + Int(element)
    func range() -> Range<Int> {
      let start = place % count
      return start..<min(count, start + amount)
    }
    switch count == 0 ? edit.inEmpty : edit {
    case .insertScalars:
      let letters = (0..<amount).map { Unicode.Scalar(UInt8(97 + (number + $0) % 26)) }
      return .insertText(
        letters.reduce(into: "") { $0.unicodeScalars.append($1) }, after: try origin(place % (count + 1)))
    case .insertItems:
      let values = (0..<amount).map { FoldValue.element(number * 10 + $0) }
      return .insertElements(values, after: try origin(place % (count + 1)))
    case .removeScalars: return .removeText(try units(range()))
    case .removeItems: return .removeElements(try units(range()))
    case .replaceItem:
      return .replaceElement(try units(place % count..<place % count + 1)[0].first, FoldValue.element(number))
    case .moveItem:
      let element = try units(place % count..<place % count + 1)[0].first
      return .moveElement(element, after: try origin((place / 2 + amount) % (count + 1)))
    }
  }
}

extension WriteTransaction {
  /// Edits a list or a text by indexes. In an empty one it inserts.
  mutating func perform(_ edit: FoldEdit, of operation: FoldOperation, in record: RecordID) throws {
    guard let kind = operation.kind.row.field else { preconditionFailure("\(operation) edits no field") }
    let field = operation.fieldName
    let count = try count(of: field, in: record, as: kind)
    let place = Int(operation.value.rawValue)
    let amount = 1 + Int(operation.element)
    let range = place % max(1, count)..<min(count, place % max(1, count) + amount)
    switch count == 0 ? edit.inEmpty : edit {
    case .insertScalars:
      let letters = String(repeating: String(UnicodeScalar(97 + operation.value.rawValue)), count: amount)
      try insertText(letters, at: place % (count + 1), in: field, of: record)
    case .removeScalars: try removeText(range, from: field, of: record)
    case .insertItems:
      let values = (0..<amount).map { Value.int(Int64(place * 10 + $0)) }
      try insertElements(values, at: place % (count + 1), in: field, of: record)
    case .removeItems: try removeElements(range, from: field, of: record)
    case .replaceItem:
      try replaceElement(at: place % count, in: field, of: record, with: operation.value.value)
    case .moveItem:
      try moveElement(from: place % count, to: (place / 2 + amount) % count, in: field, of: record)
    }
  }
}
