import LMDB
import OperationFormat

/// The units of a list or a text, as one operation of a write sees them.
struct FoundUnits {
  let cell: CellNumber
  let order: UnitOrder<TableStorage>
  let write: LocalWrite
  /// The operation's index in its transaction.
  let index: UInt32

  var count: Int { order.count }

  /// The unit after which to insert, so that the new unit is before an index.
  func origin(before index: Int, _ field: Name) throws -> UnitID? {
    try (index..<index).checkIsRange(of: count, field)
    return try order.leftOrigin(ofVisible: index) { try write.store.fold.hasSeen($0, at: self.index) }
  }

  /// A unit, as the write's operations name it.
  func reference(_ unit: UnitID) throws -> UnitReference {
    let own = write.store.fold.context
    if unit.replica == own.replica && unit.epoch == own.epoch { return UnitReference(number: unit.number) }
    return UnitReference(
      maker: UnitMaker(replica: try write.storage.replicaID(unit.replica), epoch: unit.epoch),
      number: unit.number)
  }

  /// The element of a list at an index.
  func element(at index: Int, _ field: Name) throws -> UnitReference {
    try index.checkIsIndex(below: count, field)
    let (unit, element) = try order.unit(at: index)
    return try reference(element ?? unit)
  }

  /// The index of the element that an identity names.
  ///
  /// - Throws: ``StoreError`` `elementUnknown` if the list has no such element, or has it no more.
  func index(of element: UnitReference, _ field: Name) throws -> Int {
    if let unit = try UnitCell.unit(element, in: write.store.fold),
      let place = try ListItems.place(of: unit, cell, in: write.store.fold),
      let index = try order.index(ofVisible: place)
    {
      return index
    }
    throw StoreError(
      .elementUnknown, "the list “\(field)” has no element \(element)",
      hint: "it was removed, here or by another replica: read the list again")
  }

  /// The change that moves an element from an index to another.
  func move(from source: Int, to target: Int, _ field: Name) throws -> [FieldChange] {
    let element = try element(at: source, field)
    try target.checkIsIndex(below: count, field)
    // The elements between move up.
    let origin = try origin(before: target > source ? target + 1 : target, field)
    return try [.moveElement(element, after: origin.map { try reference($0) })]
  }

  /// The units in a range of indexes, in groups that one operation may name.
  func runs(_ range: Range<Int>, _ field: Name) throws -> [[UnitSpan]] {
    try range.checkIsRange(of: count, field)
    return try order.units(range).map { UnitSpan(first: try reference($0.first), count: $0.count) }.groups()
  }

  /// The elements of a list in a range of indexes, in groups that one operation may name.
  func elements(_ range: Range<Int>, _ field: Name) throws -> [[UnitSpan]] {
    try range.checkIsRange(of: count, field)
    var runs: [UnitSpan] = []
    try order.forEachElement(in: range) { runs.append(joining: try reference($0)) }
    return runs.groups()
  }
}

extension [UnitSpan] {
  /// In groups that one operation may name.
  ///
  /// - Parameter unitsMax: how many units a group has at most.
  func groups(ofAtMost unitsMax: UInt64 = .max) -> [[UnitSpan]] {
    var (groups, left): ([[UnitSpan]], UInt64) = ([], 0)
    for span in self {
      var rest = span
      while rest.count > 0 {
        if left == 0 || groups.last?.count == Limits.operationMakersMax {
          groups.append([])
          left = unitsMax
        }
        let count = Swift.min(rest.count, left)
        groups[groups.count - 1].append(UnitSpan(first: rest.first, count: count))
        (left, rest.count) = (left - count, rest.count - count)
        rest.first.number &+= count
      }
    }
    return groups
  }

  /// Adds a unit, to the last run if it follows it.
  mutating func append(joining unit: UnitReference) {
    if let last, last.first.maker == unit.maker, last.first.number &+ last.count == unit.number {
      self[count - 1].count += 1
    } else {
      append(UnitSpan(first: unit, count: 1))
    }
  }
}
