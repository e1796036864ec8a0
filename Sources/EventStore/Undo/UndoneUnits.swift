import OperationFormat

/// The units of a list or a text, as an undo compares them.
struct UndoneUnits {
  struct Item {
    /// The unit of its place, and who has put it there.
    let place: UnitReference?
    let placedBy: TransactionID?
    let value: Value?
    /// When it got its value.
    let valued: Timestamp?
  }

  private let parts: [UnitOrderPart]
  private let isText: Bool
  /// The elements of a list that are there, by the units that they were inserted as.
  let items: [UnitReference: Item]

  init(_ field: Name, _ kind: FieldKind, of record: RecordID, in reader: RecordReader) throws {
    parts = try reader.parts(of: field, in: record, as: kind)
    isText = kind == .text
    var items: [UnitReference: Item] = [:]
    for part in parts {
      for item in part.items {
        items[part.unit(item.number)] = Item(
          place: item.places.first?.content.unit, placedBy: item.places.first?.operation.transaction,
          value: item.values.first?.content.value, valued: item.values.first?.timestamp)
      }
    }
    self.items = items
  }

  /// Whether a unit of a text is there.
  func shows(_ unit: UnitReference) -> Bool {
    parts.contains { $0.isVisible && $0.contains(unit) }
  }

  /// What some units of a text say that are there, in runs, each with its last unit.
  ///
  /// - Parameter transaction: one whose units do not count.
  func texts(
    in spans: [UnitSpan], notOf transaction: LogTransaction
  ) -> [(text: String, last: UnitReference)] {
    var found: [(String, UnitReference)] = []
    for part in parts where part.isVisible {
      let scalars = Array(String(decoding: part.text, as: UTF8.self).unicodeScalars)
      let own = part.makes(by: transaction)
      for span in spans where span.first.maker == part.first.maker {
        let first = max(span.first.number, part.first.number)
        let end = min(span.first.number + span.count, part.first.number + part.count)
        guard first < end else { continue }
        for numbers in (first..<end).without(own) {
          let range =
            Int(numbers.lowerBound - part.first.number)..<Int(numbers.upperBound - part.first.number)
          found.append((String(String.UnicodeScalarView(scalars[range])), part.unit(numbers.upperBound - 1)))
        }
      }
    }
    return found
  }

  /// Some elements that are there, and not in another state of the list, in the order of their places: their values,
  /// and the units of their places.
  ///
  /// - Parameter transaction: one whose elements do not count.
  func elements(
    in spans: [UnitSpan], notOf transaction: LogTransaction, absentIn other: UndoneUnits
  ) -> [(value: Value, place: UnitReference)] {
    let wanted = items.keys.filter { item in
      other.items[item] == nil && !isMade(item, by: transaction)
        && spans.contains {
          $0.first.maker == item.maker && item.number >= $0.first.number
            && item.number - $0.first.number < $0.count
        }
    }
    var byPlace: [UnitReference: Value] = [:]
    for item in wanted { if let place = items[item]?.place { byPlace[place] = items[item]?.value } }
    return parts.filter(\.isVisible).flatMap { part in
      (0..<part.count).compactMap { offset in
        let place = part.unit(part.first.number + offset)
        return byPlace[place].map { ($0, place) }
      }
    }
  }

  /// Whether a transaction has inserted a unit.
  func isMade(_ unit: UnitReference, by transaction: LogTransaction) -> Bool {
    parts.contains { part in
      part.contains(unit) && part.makes(by: transaction).contains { $0.contains(unit.number) }
    }
  }

  /// What is there of what a transaction has inserted.
  func made(by transaction: LogTransaction) -> [UnitSpan] {
    var spans: [UnitSpan] = []
    for part in parts {
      for numbers in part.makes(by: transaction) {
        if isText {
          if part.isVisible {
            spans.append(UnitSpan(first: part.unit(numbers.lowerBound), count: UInt64(numbers.count)))
          }
        } else {
          spans += part.items.filter { numbers.contains($0.number) }.map {
            UnitSpan(first: part.unit($0.number), count: 1)
          }
        }
      }
    }
    return spans
  }
}

extension UnitOrderPart {
  fileprivate func unit(_ number: UInt64) -> UnitReference {
    UnitReference(maker: first.maker, number: number)
  }

  fileprivate func contains(_ unit: UnitReference) -> Bool {
    unit.maker == first.maker && unit.number >= first.number && unit.number - first.number < count
  }

  /// The numbers of the units that a transaction has made.
  fileprivate func makes(by transaction: LogTransaction) -> [Range<UInt64>] {
    guard first.maker == UnitMaker(replica: transaction.replica, epoch: transaction.epoch) else { return [] }
    var number = first.number
    return makers.compactMap { maker in
      defer { number += maker.units }
      return maker.sequence == transaction.sequence ? number..<number + maker.units : nil
    }
  }
}

extension Range<UInt64> {
  /// What is left of a range without others, which are in order.
  fileprivate func without(_ others: [Range<UInt64>]) -> [Range<UInt64>] {
    var left: [Range<UInt64>] = []
    var start = lowerBound
    for other in others where other.overlaps(self) {
      if start < other.lowerBound { left.append(start..<other.lowerBound) }
      start = Swift.max(start, other.upperBound)
    }
    if start < upperBound { left.append(start..<upperBound) }
    return left
  }
}

extension CellHead.Content {
  /// Of a list's element, the unit of its place.
  fileprivate var unit: UnitReference? {
    if case .item(let unit, _) = self { unit } else { nil }
  }
}

extension [UnitSpan] {
  /// In groups that one operation may name.
  var inGroups: [[UnitSpan]] {
    stride(from: 0, to: count, by: Limits.operationMakersMax).map {
      Array(self[$0..<Swift.min($0 + Limits.operationMakersMax, count)])
    }
  }
}
