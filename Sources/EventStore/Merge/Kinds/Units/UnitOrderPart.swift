package import OperationFormat

/// Units of a list or a text that are told together, in identities: the same ones in every store that has
/// folded the same.
package struct UnitOrderPart: Hashable, Sendable {
  /// An operation that made some of the units, in their order.
  package struct Maker: Hashable, Sendable {
    package var sequence: UInt64
    package var index: UInt32
    package var units: UInt64

    package init(sequence: UInt64, index: UInt32, units: UInt64) {
      self.sequence = sequence
      self.index = index
      self.units = units
    }
  }

  /// An element of a list that is there.
  package struct Item: Hashable, Sendable {
    /// The unit that it was inserted as.
    package var number: UInt64
    /// Greatest first; each names the unit of the place.
    package var places: [CellHead]
    package var values: [CellHead]

    package init(number: UInt64, places: [CellHead], values: [CellHead]) {
      self.number = number
      self.places = places
      self.values = values
    }
  }

  /// The first unit; the others have the numbers that follow.
  package var first: UnitReference
  package var count: UInt64
  /// The left origin of the first, nil for the start.
  package var left: UnitReference?
  /// The right origin of all, nil for the end.
  package var right: UnitReference?
  package var isVisible: Bool
  /// The element that a move has put there.
  package var element: UnitReference?
  /// The UTF-8 of what is visible of a text.
  package var text: [UInt8]
  package var makers: [Maker]
  /// Those of the units that are elements of a list.
  package var items: [Item]

  package init(
    first: UnitReference, count: UInt64, left: UnitReference?, right: UnitReference?, isVisible: Bool,
    element: UnitReference?, text: [UInt8], makers: [Maker], items: [Item]
  ) {
    self.first = first
    self.count = count
    self.left = left
    self.right = right
    self.isVisible = isVisible
    self.element = element
    self.text = text
    self.makers = makers
    self.items = items
  }
}

extension UnitOrderPart: CustomStringConvertible {
  package var description: String {
    let shown = String(decoding: text, as: UTF8.self)
    let origins = "\(left.map { "\($0)" } ?? "start")–\(right.map { "\($0)" } ?? "end")"
    return "\(first)+\(count) \(isVisible ? "shown" : "hidden") “\(shown)” \(origins)"
      + (element.map { " of \($0)" } ?? "") + " by \(makers.map { "\($0.sequence).\($0.index)×\($0.units)" })"
      + (items.isEmpty ? "" : " \(items)")
  }
}

extension CellReader {
  /// The units of a list or a text.
  func unitOrder() throws -> UnitOrder<Rows> {
    let body = try body
    let root = try body.isEmpty ? UnitOrderRoot() : UnitOrderRoot(body)
    let keys = RunKeys(state: state, record: try record, cell: cell)
    return UnitOrder(rows, keys, root: root, isText: cell.hasScalars)
  }

  /// Calls a closure with each part of a list or a text, in their order.
  ///
  /// - Parameter items: the elements of a list by the units that they were inserted as.
  func forEachPart(items: [UnitID: Item], _ body: (UnitOrderPart) throws -> Void) throws {
    let order = try unitOrder()
    let rows = rows
    try order.forEachRun { run in
      let inserter = run.units.first.inserter
      try body(
        UnitOrderPart(
          first: rows.reference(run.units.first), count: run.units.count,
          left: run.left.map { try rows.reference($0) }, right: run.right.map { try rows.reference($0) },
          isVisible: run.isVisible, element: run.element.map { try rows.reference($0) }, text: run.text,
          makers: order.operations(making: run.units).map {
            UnitOrderPart.Maker(sequence: $0.sequence, index: $0.index, units: $0.units.count)
          },
          items: (run.units.first.number..<run.units.end).compactMap { number in
            // The unit that a moved element was inserted as may be dropped.
            let moved =
              try run.isVisible ? run.element.flatMap { try order.isDropped($0) ? items[$0] : nil } : nil
            return try (items[UnitID(inserter, number)] ?? moved).map { item in
              UnitOrderPart.Item(
                number: number, places: try item.placeHeads(in: self), values: try item.heads(in: self))
            }
          }))
    }
  }

  /// Appends the parts of a list or a text to a digest.
  func appendParts(items: [UnitID: Item], to digest: inout CellDigest) throws {
    let zone = try rows.zone(of: state)
    // A text may be long: its bytes need not stand together.
    try forEachPart(items: items) { part in
      try part.append(to: &digest, inLogOf: zone)
      digest.flush()
    }
    digest.writer.append(0)
  }
}

extension UnitOrderPart {
  /// - Parameter zone: whose log has them: its bytes name other zones as its owner sees them.
  fileprivate func append(to digest: inout CellDigest, inLogOf zone: ZoneID) throws {
    digest.writer.append(1)
    digest.append(first)
    digest.writer.append(varint: count)
    for unit in [left, right, element] {
      digest.writer.append(unit == nil ? 0 : 1)
      if let unit { digest.append(unit) }
    }
    digest.writer.append(isVisible ? 1 : 0)
    digest.writer.append(count: text.count)
    digest.writer.append(text)
    digest.writer.append(count: makers.count)
    for maker in makers {
      digest.writer.append(varint: maker.sequence)
      digest.writer.append(varint: UInt64(maker.index))
      digest.writer.append(varint: maker.units)
    }
    digest.writer.append(count: items.count)
    for item in items {
      digest.writer.append(varint: item.number)
      try digest.append(item.places) { head, payload in
        if case .item(let unit, _) = head.content { payload.append(varint: unit.number) }
      }
      try digest.append(item.values) { head, payload in
        try head.content.value?.stated(inLogOf: zone).encode(into: &payload)
      }
    }
  }
}

extension CellDigest {
  fileprivate mutating func append(_ unit: UnitReference) {
    writer.append(bigEndian: unit.maker?.replica.rawValue ?? 0)
    writer.append(varint: UInt64(unit.maker?.epoch ?? 0))
    writer.append(varint: unit.number)
  }

  fileprivate mutating func append(
    _ heads: [CellHead], payload: (CellHead, inout ByteWriter) throws -> Void
  ) throws {
    writer.append(count: heads.count)
    for head in heads {
      append(head.timestamp, head.operation)
      var bytes = ByteWriter()
      try payload(head, &bytes)
      append(payload: bytes.span)
    }
  }
}
