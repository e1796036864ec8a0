/// Units, those together whose numbers follow each other.
struct UnitRanges {
  private var all: [UnitRange] = []
  /// How many there are before they are joined.
  private var countMax = 1024

  init() {}

  mutating func append(_ range: UnitRange) {
    all.append(range)
    // However many there are, memory is taken for those that remain.
    guard all.count >= countMax else { return }
    join()
    countMax = max(countMax, 2 * all.count)
  }

  /// All units, each once, ascending by replica's number, epoch and number.
  mutating func joined() -> [UnitRange] {
    join()
    return all
  }

  private mutating func join() {
    all.sort {
      ($0.first.replica, $0.first.epoch, $0.first.number) < (
        $1.first.replica, $1.first.epoch, $1.first.number
      )
    }
    var joined: [UnitRange] = []
    for range in all {
      if let last = joined.last, last.first.inserter == range.first.inserter, range.first.number <= last.end {
        joined[joined.count - 1].count = max(last.end, range.end) - last.first.number
      } else {
        joined.append(range)
      }
    }
    all = joined
  }
}
