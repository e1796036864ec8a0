/// What a user sees of a record.
struct ShownRecord: Hashable {
  /// Whether it is there, by each policy: the latest change decides, a deletion wins, an update wins.
  var isThere = [false, false, false]
  /// When it was changed last.
  var lastChange: Int?
  var value: Int?
  var hasElement = false
  var sum = 0
  var text: [UnitName] = []

  init(_ record: RecordState, _ rule: CompactionRule) {
    guard let last = rule.greatest(record.existence), record.isCreated,
      record.existence.contains(where: \.isAlive)
    else { return }
    isThere = [last.isAlive, record.existence.allSatisfy(\.isAlive), true]
    lastChange = last.number
    value = rule.greatest(record.register)?.value
    hasElement = !record.element.isEmpty
    sum = record.counter.reduce(0) { $0 + $1.value }
    text = record.visibleUnits
  }

  /// Whether any policy shows it.
  var isAnywhere: Bool { isThere.contains(true) }
}
