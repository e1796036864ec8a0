/// What is stored of a record: the heads of its cells, each in the order of their numbers.
struct RecordState: Hashable {
  /// Whether a `create` was folded since the record was last dropped.
  var isCreated = false
  var existence: [Head] = []
  var register: [Head] = []
  /// Of the one element of a set.
  var element: [Head] = []
  var counter: [Head] = []
  /// In the text's order.
  var text: [TextUnit] = []
  /// How many units each writer has inserted.
  var unitCounts: [Int] = []

  /// Whether nothing is stored of it.
  var isAbsent: Bool { existence.isEmpty }
  var visibleUnits: [UnitName] { text.filter { !$0.isRemoved }.map(\.name) }

  mutating func sort() {
    existence.sort()
    register.sort()
    element.sort()
    counter.sort()
  }
}
