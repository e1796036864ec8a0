import EventStore
import OperationFormat

/// Names a list or a text of a record in a history.
struct FoldSequence: Hashable {
  var record: Int
  var field: Int
  var kind: FieldKind

  /// The list or text that an operation works on; nil for others.
  init?(_ operation: FoldOperation) {
    guard operation.kind.isOfSequence else { return nil }
    record = Int(operation.record)
    field = Int(operation.field)
    kind = operation.kind == .insertText || operation.kind == .removeText ? .text : .list
  }
}

extension FoldOperation {
  /// What the operation says of units, where its maker sees `count` of them.
  ///
  /// - Parameters:
  ///   - origin: gives the unit behind which to insert before an index.
  ///   - units: gives the units in a range of indexes.
  /// Where nothing is seen, it inserts.
  func change(
    count: Int, number: Int, origin: (Int) throws -> UnitReference?, units: (Range<Int>) throws -> [UnitSpan]
  ) throws -> FieldChange {
    let place = Int(value.rawValue)
    let amount = 1 + Int(element)
    func range() -> Range<Int> {
      let start = place % count
      return start..<min(count, start + amount)
    }
    switch kind {
    case .insertText,
      .removeText where count == 0:
      let letters = (0..<amount).map { Unicode.Scalar(UInt8(97 + (number + $0) % 26)) }
      return .insertText(
        letters.reduce(into: "") { $0.unicodeScalars.append($1) }, after: try origin(place % (count + 1)))
    case _ where count == 0 || kind == .insertElements:
      let values = (0..<amount).map { FoldValue.element(number * 10 + $0) }
      return .insertElements(values, after: try origin(place % (count + 1)))
    case .removeText: return .removeText(try units(range()))
    case .removeElements: return .removeElements(try units(range()))
    case .replaceElement:
      return .replaceElement(try units(place % count..<place % count + 1)[0].first, FoldValue.element(number))
    default:
      let element = try units(place % count..<place % count + 1)[0].first
      return .moveElement(element, after: try origin((place / 2 + amount) % (count + 1)))
    }
  }
}
