import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Sequences of a state that was replaced")
struct SequencesOfReplacedStates {
  let directory = TemporaryDirectory()

  @Test("are removed with it, and no others")
  func goWithIt() async throws {
    let store = try directory.store()
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(note("a"), type: "note")
    }
    let state = try #require(try store.rows(\.records).first).key.prefix(4)
    let next = StateNumber(rawValue: try Array(state).span.bytes.bigEndian32(at: 0) + 1000)
    for number in 1...30 as ClosedRange<UInt32> {
      for state in [StateNumber(rawValue: next.rawValue - 1000), next] {
        let key = RunKeys(state: state, record: 1, cell: CellNumber(rawValue: 21)).node(number)
        try store.overwrite(key.span.bytes, [1, 0, 0, 0, 0], in: \.runs)
      }
    }
    let before = try store.rows(\.runs)
    #expect(before.count == 60)
    _ = try await store.rebuild()
    _ = try await store.reclaim()
    let after = try store.rows(\.runs)
    #expect(after.count == 30)
    for row in after {
      let state = try row.key.span.bytes.bigEndian32(at: 0)
      #expect(state == next.rawValue)
    }
  }
}
