import OperationFormat

/// The units of a list or a text, as an undo compares them.
struct UndoneUnits {
  struct Item: Equatable {
    /// The unit of its place, and the operations that have put it there.
    var place: UnitReference?
    var places: [OperationID]
    var value: Value?
    var values: [OperationID]
    /// When it got its value.
    var valued: Timestamp?

    /// The operations that have put it somewhere, and given it values.
    var heads: [OperationID] { places + values }
  }

  let parts: [UnitOrderPart]
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

  /// Whether a unit of a text is there.
  func shows(_ unit: UnitReference) -> Bool { shown.contains(unit) }

  /// All units, whether they are there or not.
  var all: [UnitSpan] { parts.map { UnitSpan(first: $0.first, count: $0.count) } }

  /// What a transaction has made, whether it is there or not.
  func spans(madeBy transaction: LogTransaction) -> [UnitSpan] {
    parts.flatMap { $0.spans { $0 == transaction.id } }
  }

  /// The units of some transactions.
  func units(madeBy isWanted: (TransactionID) -> Bool) -> UnitSet {
    UnitSet(parts.flatMap { $0.spans(madeBy: isWanted) })
  }

  /// The elements that moves have put at places, by these.
  var movedElements: [UnitReference: UnitReference] {
    var moved: [UnitReference: UnitReference] = [:]
    for part in parts {
      guard let element = part.element else { continue }
      for number in part.first.number..<part.first.number + part.count { moved[part.unit(number)] = element }
    }
    return moved
  }

  /// What some units of a text say that are there, in runs, each with its last unit.
  func texts(where isWanted: (UnitReference) -> Bool) -> [(text: String, last: UnitReference)] {
    var found: [(String, UnitReference)] = []
    for part in parts where part.isVisible {
      var (run, last) = (String.UnicodeScalarView(), part.first)
      for (offset, scalar) in String(decoding: part.text, as: UTF8.self).unicodeScalars.enumerated() {
        let unit = part.unit(part.first.number + UInt64(offset))
        let isPart = isWanted(unit)
        if !run.isEmpty, !isPart || run.count >= Self.scalarsMax {
          found.append((String(run), last))
          run = String.UnicodeScalarView()
        }
        if isPart {
          run.append(scalar)
          last = unit
        }
      }
      if !run.isEmpty { found.append((String(run), last)) }
    }
    return found
  }

  /// The units of a text that are there, of those that a closure chooses.
  func shownSpans(where isWanted: (UnitReference) -> Bool) -> [UnitSpan] {
    var spans: [UnitSpan] = []
    for part in parts where part.isVisible {
      for number in part.first.number..<part.first.number + part.count where isWanted(part.unit(number)) {
        spans.append(joining: part.unit(number))
      }
    }
    return spans
  }

  /// Values in the order of the places that they are to have, in runs of neighbours, each with the unit of its last place.
  func elements(_ values: [UnitReference: Value]) -> [(values: [Value], last: UnitReference)] {
    if values.isEmpty { return [] }
    var found: [(values: [Value], last: UnitReference)] = []
    for part in parts {
      var isNeighbour = false
      for number in part.first.number..<part.first.number + part.count {
        let place = part.unit(number)
        guard let value = values[place] else {
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

  /// So many elements are inserted by one operation, and so many scalars, which are 64 KiB at most.
  private static let (elementsMax, scalarsMax) = (256, 16_384)
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

  /// The units that some transactions have made.
  fileprivate func spans(madeBy isWanted: (TransactionID) -> Bool) -> [UnitSpan] {
    guard let maker = first.maker else { return [] }
    var number = first.number
    return makers.compactMap { some in
      defer { number += some.units }
      let id = TransactionID(replica: maker.replica, epoch: maker.epoch, sequence: some.sequence)
      return isWanted(id) ? UnitSpan(first: unit(number), count: some.units) : nil
    }
  }
}

extension CellHead.Content {
  /// Of a list's element, the unit of its place.
  fileprivate var unit: UnitReference? {
    if case .item(let unit, _) = self { unit } else { nil }
  }
}
