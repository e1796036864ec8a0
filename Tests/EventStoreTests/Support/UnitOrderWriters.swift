@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

/// Several writers that each edit their own copy of one sequence, and exchange operations.
struct UnitOrderWriters {
  private struct Writer {
    var sequence: UnitOrder<MemoryFoldStorage>
    /// The operations it has, by index.
    var seen: Set<Int> = []
    /// For each writer, the index up to which the history's operations were considered.
    var cursor: Int?
  }

  private(set) var history: UnitOrderHistory
  private var writers: [Writer]
  private var random: SeededGenerator

  init(_ count: Int, isText: Bool = true, nodeBytesMax: Int, seed: UInt64) {
    random = SeededGenerator(seed: seed)
    history = UnitOrderHistory(writers: count, isText: isText)
    history.identities.shuffle(using: &random)
    writers = []
    for _ in 0..<count {
      writers.append(
        Writer(sequence: history.makeSequence(history.makeStorage(), nodeBytesMax: nodeBytesMax)))
    }
  }

  /// The copy of a writer, from 1.
  func sequence(of writer: Int) -> UnitOrder<MemoryFoldStorage> { writers[writer - 1].sequence }

  /// One random edit or exchange.
  mutating func step() throws {
    let writer = random.below(writers.count) + 1
    if random.chance(12) { return try receive(writer, from: random.below(writers.count) + 1) }
    let count = writers[writer - 1].sequence.count
    if count > 0, random.chance(30) {
      let start = random.below(count)
      return try hide(writer, start..<min(count, start + 1 + random.below(random.chance(10) ? 40 : 4)))
    }
    if !history.isText, random.chance(20) { return try showOrMove(writer) }
    // Mostly it continues at its last place.
    var index = random.below(count + 1)
    if random.chance(60), let cursor = writers[writer - 1].cursor { index = min(cursor, count) }
    try insert(writer, at: index)
  }

  private static let texts = [
    "a", "b", "é", "€", "𝄞", "word ", "naïve 𝄞 text, €5 ", "e\u{301}", "\0", "\r\n",
  ]

  private mutating func insert(_ writer: Int, at index: Int) throws {
    let text = Self.texts[random.below(Self.texts.count)]
    if history.isText {
      let left = try leftOrigin(writer, index)
      return try add(.insert(text: text, after: left), writer, cursor: index + text.unicodeScalars.count)
    }
    let count = random.chance(70) ? 1 : 1 + random.below(30)
    try add(.places(count, after: try leftOrigin(writer, index)), writer, cursor: index + count)
  }

  mutating func insert(_ text: String, by writer: Int, at index: Int) throws {
    let left = try leftOrigin(writer, index)
    try add(.insert(text: text, after: left), writer, cursor: index + text.unicodeScalars.count)
  }

  private func leftOrigin(_ writer: Int, _ index: Int) throws -> UnitID? {
    let seen = writers[writer - 1].seen
    let left = try writers[writer - 1].sequence.leftOrigin(ofVisible: index) { history.hasSeen($0, by: seen) }
    return left
  }

  mutating func hide(_ writer: Int, _ range: Range<Int>) throws {
    let units = try writers[writer - 1].sequence.units(range)
    try add(.set(isVisible: false, units), writer, cursor: range.lowerBound)
  }

  private mutating func showOrMove(_ writer: Int) throws {
    let count = writers[writer - 1].sequence.count
    let units = try writers[writer - 1].sequence.runs
    // The fold decides if one writer hides what another shows at the same time: here only a single writer
    // does both.
    if writers.count > 1 || random.chance(50) {
      if count == 0 { return }
      let element = try writers[writer - 1].sequence.unit(at: random.below(count))
      let index = random.below(count + 1)
      let left = try leftOrigin(writer, index)
      return try add(.place(of: element.element ?? element.unit, after: left), writer, cursor: index + 1)
    }
    guard let run = units.randomElement(using: &random) else { return }
    try add(.set(isVisible: true, [run.units]), writer, cursor: 0)
  }

  private mutating func add(_ action: UnitOrderHistory.Action, _ writer: Int, cursor: Int) throws {
    let index = history.add(action, by: writer, seen: writers[writer - 1].seen)
    try history.fold(index, into: &writers[writer - 1].sequence)
    writers[writer - 1].seen.insert(index)
    writers[writer - 1].cursor = cursor
  }

  mutating func receive(_ writer: Int, from other: Int) throws {
    for index in writers[other - 1].seen.subtracting(writers[writer - 1].seen).sorted() {
      try history.fold(index, into: &writers[writer - 1].sequence)
      writers[writer - 1].seen.insert(index)
    }
    writers[writer - 1].cursor = nil
  }

  /// Lets all writers exchange everything.
  mutating func exchangeAll() throws {
    for _ in 0..<2 {
      for writer in 1...writers.count {
        for other in 1...writers.count where other != writer { try receive(writer, from: other) }
      }
    }
  }
}
