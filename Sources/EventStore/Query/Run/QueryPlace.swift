import OperationFormat

/// Places whose order the keys of an index do not tell.
struct TiedPlaces {
  private var places: [QueryPlace] = []
  /// What their keys begin with.
  private var key: [UInt8] = []

  var isEmpty: Bool { places.isEmpty }

  /// Adds a place; passes those before, if their keys begin otherwise.
  ///
  /// - Returns: whether more are wanted.
  mutating func add(_ place: QueryPlace, _ key: RawSpan, _ pass: (QueryPlace) -> Bool) throws -> Bool {
    if !equalBytes(self.key.span.bytes, key) {
      guard passAll(pass) else { return false }
      self.key = key.bytes
    }
    places.append(place)
    return true
  }

  /// Passes the places in their order until no more are wanted.
  mutating func passAll(_ pass: (QueryPlace) -> Bool) -> Bool {
    let sorted = places.sorted { $0.precedes($1) }
    places.removeAll()
    return sorted.allSatisfy(pass)
  }
}

/// The first places of an order.
struct BestPlaces {
  private let limit: Int
  private var places: [QueryPlace] = []
  /// One that none of them is behind, once there are enough.
  private var last: QueryPlace?
  private var isSorted = true

  init(limit: Int?) { self.limit = limit ?? .max }

  /// Adds a place.
  ///
  /// - Returns: false if it is certainly behind enough others.
  mutating func add(_ place: QueryPlace) -> Bool {
    if let last, !place.precedes(last) { return false }
    if isSorted, let previous = places.last, !previous.precedes(place) { isSorted = false }
    places.append(place)
    // Few more than the first are kept, so that each is sorted few times.
    if places.count == limit || limit < .max / 2 && places.count >= 2 * limit + 64 {
      if !isSorted { places.sort { $0.precedes($1) } }
      isSorted = true
      if places.count > limit { places.removeSubrange(limit...) }
      last = places.last
    }
    return true
  }

  func sorted() -> ArraySlice<QueryPlace> {
    (isSorted ? places : places.sorted { $0.precedes($1) }).prefix(limit)
  }
}

/// A record's place in an order.
struct QueryPlace {
  let values: [Value]
  let record: RecordID
  /// Which of the fields it stands for that a record comes for.
  var each = 0
  let order: [QueryOrder]

  func precedes(_ other: QueryPlace) -> Bool {
    for (index, part) in order.enumerated() {
      let (left, right) = part.isDescending ? (other, self) : (self, other)
      if left.values[index].precedes(right.values[index]) { return true }
      if right.values[index].precedes(left.values[index]) { return false }
    }
    if record.zone != other.record.zone { return record.zone < other.record.zone }
    return (each, record.name) < (other.each, other.record.name)
  }
}

extension QueryCursor {
  /// The place it names.
  func place(in order: [QueryOrder]) -> QueryPlace {
    QueryPlace(values: values, record: record, each: each, order: order)
  }
}
