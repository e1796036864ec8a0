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
    return try order.units(range).map { UnitSpan(first: try reference($0.first), count: $0.count) }.inGroups
  }

  /// The elements of a list in a range of indexes, in groups that one operation may name.
  func elements(_ range: Range<Int>, _ field: Name) throws -> [[UnitSpan]] {
    try range.checkIsRange(of: count, field)
    var runs: [UnitSpan] = []
    try order.forEachElement(in: range) { unit in
      let reference = try reference(unit)
      if let last = runs.last, last.first.maker == reference.maker,
        last.first.number &+ last.count == reference.number
      {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(UnitSpan(first: reference, count: 1))
      }
    }
    return runs.inGroups
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
