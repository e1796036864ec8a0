/// The store of one replica.
struct Store: Hashable {
  /// The log up to its token, with its pending work on top.
  var state: ZoneState
  /// For each transaction in it, by its number, the base by which it was folded; -1 for others.
  private(set) var bases: [Int] = []
  /// What it started from: a log, and its state there.
  let origin: Snapshot

  init(_ origin: Snapshot) {
    self.origin = origin
    state = origin.state
  }

  func base(of number: Int) -> Int? {
    number < bases.count && bases[number] >= 0 ? bases[number] : nil
  }

  mutating func setBase(_ base: Int, of number: Int) {
    while bases.count <= number { bases.append(-1) }
    bases[number] = base
  }
}
