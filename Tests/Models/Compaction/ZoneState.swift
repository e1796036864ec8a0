/// What a store has of a zone.
struct ZoneState: Hashable {
  var records: [RecordState]
  /// The last floor; 0 if there was none.
  var floor = 0
  /// The offset of each transaction, by its number; 0 if it has none, or it is known no more.
  private var places: [Int] = []

  init(records: Int) { self.records = Array(repeating: RecordState(), count: records) }

  func place(of number: Int) -> Int { number < places.count ? places[number] : 0 }

  mutating func setPlace(_ offset: Int, of number: Int) {
    while places.count <= number { places.append(0) }
    places[number] = offset
  }

  /// Forgets the places of transactions of which no head is left, but for those that compaction wrote.
  mutating func forgetPlaces() {
    var needed = NumberSet()
    for record in records {
      let heads = record.existence + record.register + record.element + record.counter
      for head in heads + record.text.map(\.head) where !head.isCompacted { needed.insert(head.number) }
    }
    for number in places.indices where !needed.contains(number) { places[number] = 0 }
  }

  mutating func forgetAllPlaces() { places = [] }

  func isEqual(_ other: ZoneState) -> Bool { records == other.records && floor == other.floor }
}
