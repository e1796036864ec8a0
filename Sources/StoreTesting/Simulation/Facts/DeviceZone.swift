import EventStore
import OperationFormat

/// What a device's store has of one zone.
final class DeviceZone {
  private(set) var facts: ZoneFacts
  private(set) var view = ZoneView()
  /// The offset of its token.
  private(set) var token = 0
  /// The greatest offset that its token ever had: up to there everything is folded.
  private(set) var offset = 0
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

  /// Whether nothing of it lies at the remote, as far as the store knows.
  var isFree: Bool { offset == 0 && unacknowledged.count == view.folded.count }

  func fold(_ number: Int) {
    view.fold(number)
    touch(number)
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

  /// The store was told when the remote received a segment.
  func learn(_ segment: ZoneFacts.SegmentFacts) {
    guard let milliseconds = segment.receivedMilliseconds else { return }
    for number in segment.numbers {
      view.receive(number, atMilliseconds: milliseconds)
      touch(number)
    }
  }

  /// The zone that was its own alone is the remote's now: what was made here lies among another's numbers.
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

  /// A transaction that lies before the token and was not folded, if there is one.
  func takeMissing() -> Int? {
    defer { passed = [] }
    return passed.first { !view.folded.contains($0) }
  }

  func takeTouched() -> [Name] {
    defer { touched = [] }
    return touched.sorted()
  }

  private func touch(_ number: Int) {
    for record in facts.model.records(touchedBy: number) { touched.insert(record) }
  }
}
