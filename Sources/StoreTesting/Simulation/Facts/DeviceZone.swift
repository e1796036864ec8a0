import EventStore
import OperationFormat

/// What a device's store has of one zone.
final class DeviceZone {
  private(set) var facts: ZoneFacts
  private(set) var view = ZoneView()
  /// The offset of its token.
  private(set) var token = 0
  /// The greatest offset that its token ever had: up to there everything is in the log.
  private(set) var offset = 0
  /// Up to which offset its records show others' transactions.
  private(set) var shown = 0
  /// Transactions of the log beyond that, in no order: they are being folded beside the records.
  private var waiting: Set<Int> = []
  /// The last of its own sequences.
  var ownSequence: UInt64 = 0
  /// Own transactions of which it does not know that the remote has them.
  var unacknowledged: [Int] = []
  /// Records that changed since they were compared.
  private var touched: Set<Name> = []
  /// Transactions that the token passed since they were looked for.
  private var passed: [Int] = []

  init(_ facts: ZoneFacts) { self.facts = facts }

  /// What the digest is a function of.
  var stateHash: UInt64 {
    var hash = view.folded.stableHash
    for (number, milliseconds) in view.received.enumerated() where milliseconds != .max {
      hash = (hash ^ UInt64(number)) &* 0x0000_0100_0000_01b3 ^ UInt64(bitPattern: milliseconds)
    }
    return hash
  }

  /// Whether the remote has nothing of it, as far as the store knows.
  var isFree: Bool { offset == 0 && unacknowledged.count == view.folded.count }

  func fold(_ number: Int) {
    view.fold(number)
    touch(number)
  }

  /// Notes a transaction at an offset of the remote log.
  func fold(_ number: Int, at place: Int) {
    if place > shown { waiting.insert(number) } else { fold(number) }
  }

  /// Whether the store has it in its log.
  func has(_ number: Int) -> Bool { view.folded.contains(number) || waiting.contains(number) }

  /// Whether its records do not show all of its log.
  var isBehind: Bool { !waiting.isEmpty }

  /// Notes that the records show only what new transactions have seen, which is less than the store's log.
  func show(upTo base: Base?) {
    shown = base.map { $0.incarnation == facts.incarnation ? Int($0.offset) : 0 } ?? 0
    release { facts.model.place(of: $0).map { $0 <= shown } ?? true }
  }

  /// Notes that the records show the whole log of the store.
  func showAll() {
    shown = offset
    release { _ in true }
  }

  private func release(where isShown: (Int) -> Bool) {
    for number in waiting where isShown(number) {
      waiting.remove(number)
      fold(number)
    }
  }

  /// The token moved to an offset, past segments that the store knows from now on.
  func move(to offset: Int) {
    for segment in facts.segments[self.offset..<max(self.offset, offset)] {
      learn(segment)
      passed += segment.numbers
    }
    self.offset = max(self.offset, offset)
    token = offset
  }

  /// The token is set back to the log's start.
  func forgetToken() { token = 0 }

  /// Notes that the store learned when the remote received a segment.
  func learn(_ segment: ZoneFacts.SegmentFacts) {
    guard let milliseconds = segment.receivedMilliseconds else { return }
    for number in segment.numbers {
      view.receive(number, atMilliseconds: milliseconds)
      touch(number)
    }
  }

  /// Attaches a local zone to the remote's zone of its name, which has other numbers for transactions.
  func attach(to other: ZoneFacts) throws {
    var numbers: [Int: Int] = [:]
    var attached = ZoneView()
    for number in view.folded {
      let new = try other.add(facts.model.transactions[number], bytes: facts.bytes[number])
      numbers[number] = new
      attached.fold(new)
    }
    view = attached
    unacknowledged = unacknowledged.compactMap { numbers[$0] }
    facts = other
  }

  /// A transaction before the token that was not folded; nil if there is none.
  func takeMissing() -> Int? {
    defer { passed = [] }
    return passed.first { !has($0) }
  }

  func takeTouched() -> [Name] {
    defer { touched = [] }
    return touched.sorted()
  }

  private func touch(_ number: Int) {
    for record in facts.model.records(touchedBy: number) { touched.insert(record) }
  }
}
