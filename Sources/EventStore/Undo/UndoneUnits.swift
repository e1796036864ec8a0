import OperationFormat

/// The units of a list or a text, as an undo compares them.
struct UndoneUnits {
  struct Item: Equatable {
    /// The unit of its place, and the operations that have put it there.
    let place: UnitReference?
    let places: [OperationID]
    let value: Value?
    let values: [OperationID]
    /// When it got its value.
    let valued: Timestamp?
  }

  private let parts: [UnitOrderPart]
  private let isText: Bool
  /// The elements of a list that are there, by the units that they were inserted as.
  let items: [UnitReference: Item]
  /// What is there of a text.
  private let shown: UnitSet

  init(_ field: Name, _ kind: FieldKind, of record: RecordID, in reader: RecordReader) throws {
    parts = try reader.parts(of: field, in: record, as: kind)
    isText = kind == .text
    var items: [UnitReference: Item] = [:]
    for part in parts {
      for item in part.items {
        items[part.unit(item.number)] = Item(
          place: item.places.first?.content.unit, places: item.places.map(\.operation),
          value: item.values.first?.content.value, values: item.values.map(\.operation),
          valued: item.values.first?.timestamp)
      }
    }
    self.items = items
    shown = UnitSet(
      isText ? parts.filter(\.isVisible).map { UnitSpan(first: $0.first, count: $0.count) } : [])
  }

  /// All units, whether they are there or not.
  var all: [UnitSpan] { parts.map { UnitSpan(first: $0.first, count: $0.count) } }

  /// Whether a unit of a text is there.
  func shows(_ unit: UnitReference) -> Bool { shown.contains(unit) }

  /// What a transaction has made, whether it is there or not.
  func units(madeBy transaction: LogTransaction) -> UnitSet {
    UnitSet(parts.flatMap { part in part.spans(madeBy: transaction) })
  }

  /// What some units of a text say that are there, and not in another state of it, in runs, each with its last unit.
  ///
  /// - Parameter own: units that do not count.
  func texts(
    in spans: [UnitSpan], besides own: UnitSet, absentIn other: UndoneUnits
  ) -> [(text: String, last: UnitReference)] {
    let wanted = UnitSet(spans)
    var found: [(String, UnitReference)] = []
    for part in parts where part.isVisible && wanted.overlaps(part.first, part.count) {
      let scalars = Array(String(decoding: part.text, as: UTF8.self).unicodeScalars)
      var run = String.UnicodeScalarView()
      for (offset, scalar) in scalars.enumerated() {
        let unit = part.unit(part.first.number + UInt64(offset))
        if wanted.contains(unit), !own.contains(unit), !other.shows(unit) {
          run.append(scalar)
        } else if !run.isEmpty {
          found.append((String(run), part.unit(unit.number - 1)))
          run = String.UnicodeScalarView()
        }
      }
      if !run.isEmpty {
        found.append((String(run), part.unit(part.first.number + UInt64(scalars.count) - 1)))
      }
    }
    return found
  }

  /// Some elements that are there, and not in another state of the list, in runs of neighbours: their values, and the unit
  /// of the last one's place.
  ///
  /// - Parameter own: elements that do not count.
  func elements(
    in spans: [UnitSpan], besides own: UnitSet, absentIn other: UndoneUnits
  ) -> [(values: [Value], last: UnitReference)] {
    let wanted = UnitSet(spans)
    var byPlace: [UnitReference: Value] = [:]
    for (id, item) in items where wanted.contains(id) && !own.contains(id) && other.items[id] == nil {
      if let place = item.place { byPlace[place] = item.value }
    }
    if byPlace.isEmpty { return [] }
    var found: [(values: [Value], last: UnitReference)] = []
    for part in parts where part.isVisible {
      var isNeighbour = false
      for offset in 0..<part.count {
        let place = part.unit(part.first.number + offset)
        guard let value = byPlace[place] else {
          isNeighbour = false
          continue
        }
        if isNeighbour, found[found.count - 1].values.count < Self.elementsMax {
          found[found.count - 1].values.append(value)
          found[found.count - 1].last = place
        } else {
          found.append(([value], place))
        }
        isNeighbour = true
      }
    }
    return found
  }

  /// So many elements are inserted by one operation.
  private static let elementsMax = 256

  /// What is there of what a transaction has inserted: scalars of a text, or elements of a list.
  func there(madeBy transaction: LogTransaction) -> [UnitSpan] {
    var spans: [UnitSpan] = []
    for part in parts {
      if isText, !part.isVisible { continue }
      for span in part.spans(madeBy: transaction) {
        if isText {
          spans.append(span)
        } else {
          spans += part.items.filter {
            $0.number >= span.first.number && $0.number - span.first.number < span.count
          }
          .map { UnitSpan(first: part.unit($0.number), count: 1) }
        }
      }
    }
    return spans
  }
}

/// Some units.
struct UnitSet {
  private var ranges: [UnitMaker?: [Range<UInt64>]] = [:]

  init(_ spans: [UnitSpan]) {
    for span in spans {
      let (end, overflows) = span.first.number.addingReportingOverflow(span.count)
      ranges[span.first.maker, default: []].append(span.first.number..<(overflows ? .max : end))
    }
    for (maker, some) in ranges {
      var joined: [Range<UInt64>] = []
      for range in some.sorted(by: { $0.lowerBound < $1.lowerBound }) {
        if let last = joined.last, range.lowerBound <= last.upperBound {
          joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
        } else {
          joined.append(range)
        }
      }
      ranges[maker] = joined
    }
  }

  func contains(_ unit: UnitReference) -> Bool { overlaps(unit, 1) }

  /// Whether it has any of some consecutive units.
  ///
  /// - Complexity: O(log n).
  func overlaps(_ first: UnitReference, _ count: UInt64) -> Bool {
    guard let some = ranges[first.maker] else { return false }
    let place = some.prefixCount { $0.upperBound <= first.number }
    return place < some.count && some[place].lowerBound < first.number &+ count
  }
}

extension UnitOrderPart {
  fileprivate func unit(_ number: UInt64) -> UnitReference {
    UnitReference(maker: first.maker, number: number)
  }

  /// The units that a transaction has made.
  fileprivate func spans(madeBy transaction: LogTransaction) -> [UnitSpan] {
    guard first.maker == UnitMaker(replica: transaction.replica, epoch: transaction.epoch) else { return [] }
    var number = first.number
    return makers.compactMap { maker in
      defer { number += maker.units }
      return maker.sequence == transaction.sequence ? UnitSpan(first: unit(number), count: maker.units) : nil
    }
  }
}

extension CellHead.Content {
  /// Of a list's element, the unit of its place.
  fileprivate var unit: UnitReference? {
    if case .item(let unit, _) = self { unit } else { nil }
  }
}
