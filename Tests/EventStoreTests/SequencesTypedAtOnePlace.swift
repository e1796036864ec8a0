import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

@Suite("Sequences that three writers type into concurrently at one place")
struct SequencesTypedAtOnePlace {
  /// How a writer types: each character after the previous one, before it, or on both sides in turn.
  enum Manner: CaseIterable {
    case forward, backward, both
  }

  private static let count = 6

  /// Types into a separate copy, after what all have seen.
  private func type(
    _ manner: Manner, _ writer: Int, at start: Int, into history: inout UnitOrderHistory, seen: Set<Int>
  ) throws {
    var sequence = history.makeSequence(history.makeStorage(), nodeBytesMax: 64)
    for index in seen.sorted() { try history.fold(index, into: &sequence) }
    var known = seen
    for typed in 0..<Self.count {
      let index =
        switch manner {
        case .forward: start + typed
        case .backward: start
        case .both: typed % 2 == 0 ? start : start + typed
        }
      let view = known
      let hasSeen = { [history] (head: HeadID) in history.hasSeen(head, by: view) }
      let left = try sequence.leftOrigin(ofVisible: index, hasSeen: hasSeen)
      let text = String(UnicodeScalar(UInt8(64 + writer)))
      let added = history.add(.insert(text: text, after: left), by: writer, seen: known)
      try history.fold(added, into: &sequence)
      known.insert(added)
    }
  }

  @Test("keep the text of each writer together", arguments: ["", "[]", "[", "x[]y"])
  func keepTogether(_ before: String) throws {
    let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]
    var random = SeededGenerator(seed: 5)
    for identities in orders {
      for first in Manner.allCases {
        for second in Manner.allCases {
          for third in Manner.allCases {
            var history = UnitOrderHistory(writers: 3)
            history.identities = identities.map { ReplicaID(rawValue: UInt128($0)) }
            var seen: Set<Int> = []
            if !before.isEmpty {
              seen.insert(history.add(.insert(text: before, after: nil), by: 1, seen: []))
            }
            let start = before.count / 2 + before.count % 2
            try type(first, 1, at: start, into: &history, seen: seen)
            try type(second, 2, at: start, into: &history, seen: seen)
            try type(third, 3, at: start, into: &history, seen: seen)
            let sequence = try history.folded(history.order(&random), nodeBytesMax: 64)
            let text = try sequence.text()
            #expect(text.utf8.count == before.utf8.count + 3 * Self.count)
            for typed in ["AAAAAA", "BBBBBB", "CCCCCC"] {
              #expect(text.contains(typed), "\(text), typed \(first), \(second), \(third) by \(identities)")
            }
            // Writers who typed in the same way are ordered by their identities.
            if first == second, second == third, let a = text.firstIndex(of: "A"),
              let b = text.firstIndex(of: "B")
            {
              #expect((a < b) == (identities[0] < identities[1]))
            }
          }
        }
      }
    }
  }
}
