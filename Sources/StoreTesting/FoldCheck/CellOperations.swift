/// Draws operations on few records and fields, so that writers often use the same cells.
struct CellOperations: Hashable, Sendable {
  /// How many records there are.
  var records: Int
  /// How many fields each of them has.
  var fields: Int
  /// How many of a hundred operations delete a record, or move it away.
  var deletePercent: Int
  /// How many of a hundred create one. The rest set a field.
  var createPercent: Int
  /// How many of a hundred of the rest add to a counter.
  var addPercent = 0
  /// How many of a hundred of the rest change a set or a map.
  var elementPercent = 0
  /// How many of a hundred of the rest change a list or a text.
  var sequencePercent = 0
  /// How many of a hundred of the rest contribute to a field.
  var contributePercent = 0

  /// The types that records have.
  static let types = 2

  /// Draws how often each kind of operation occurs.
  init(records: Int, fields: Int, from choices: inout some ChoiceSource) {
    self.records = records
    self.fields = fields
    deletePercent = choices.next(in: 5...35)
    createPercent = choices.next(in: 5...30)
  }

  /// Draws the operations of one transaction: from one up to a number, few more often than many.
  func draw(upTo most: Int, from choices: inout some ChoiceSource) -> [FoldOperation] {
    (0..<choices.few(1...max(1, most))).map { _ in draw(from: &choices) }
  }

  /// Draws one operation.
  func draw(from choices: inout some ChoiceSource) -> FoldOperation {
    let kind = choices.next(below: 100)
    let record = UInt8(choices.next(below: records))
    let type: UInt8 = choices.chance(85) ? 0 : 1
    if kind < deletePercent {
      // A deletion has no use for the type: some of them are moves, by it.
      if type == 0 { return FoldOperation(.delete, record: record) }
      return FoldOperation(.moveAway, record: record, element: UInt8(kind % FoldExistence.places.count))
    }
    if kind < deletePercent + createPercent { return FoldOperation(.create, record: record, type: type) }
    if addPercent > 0, choices.chance(addPercent) {
      return FoldOperation(
        .add, record: record, field: UInt8(choices.next(below: fields)), type: type,
        value: FoldValue(rawValue: UInt8(choices.next(in: 1...7))))
    }
    if elementPercent > 0, choices.chance(elementPercent) {
      let kinds: [FoldOperation.Kind] = [.insert, .remove, .put, .removeKey, .insert, .put]
      return FoldOperation(
        kinds[choices.next(below: kinds.count)], record: record, field: UInt8(choices.next(below: fields)),
        type: type, value: drawValue(&choices), element: UInt8(choices.next(below: FoldCells.elements)))
    }
    if sequencePercent > 0, choices.chance(sequencePercent) {
      let kinds: [FoldOperation.Kind] = [
        .insertText, .removeText, .insertElements, .moveElement, .replaceElement, .removeElements,
        .insertText,
        .insertElements,
      ]
      return FoldOperation(
        kinds[choices.next(below: kinds.count)], record: record, field: UInt8(choices.next(below: fields)),
        type: type, value: FoldValue(rawValue: UInt8(choices.next(below: Int(FoldValue.count)))),
        element: UInt8(choices.next(below: 3)))
    }
    let contributes = contributePercent > 0 && choices.chance(contributePercent)
    return FoldOperation(
      contributes ? .contribute : .set, record: record, field: UInt8(choices.next(below: fields)), type: type,
      value: drawValue(&choices))
  }

  private func drawValue(_ choices: inout some ChoiceSource) -> FoldValue {
    switch choices.next(below: 100) {
    case 0..<8: .null
    case 8..<82: FoldValue(rawValue: UInt8(choices.next(in: 1...7)))
    // Two of the largest that are not kept apart make a row that may be divided.
    case 82..<90: FoldValue(rawValue: UInt8(choices.next(in: 8...Int(FoldValue.firstLarge - 1))))
    default: FoldValue(rawValue: UInt8(choices.next(in: 8...Int(FoldValue.count - 1))))
    }
  }
}
