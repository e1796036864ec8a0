import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("The reserve of a write for being issued again")
struct RoomForRenaming {
  private struct Size {
    var steps: Int
    var bytes: Int
    var renaming: RenamingGrowth

    init(_ change: FieldChange) throws {
      var builder = BodyEncoder()
      let names = (["r", "t", "f"] as [Name]).map { builder.nameIndex($0) }
      var operand = ByteWriter()
      try change.encode(into: &operand)
      builder.append(change.kind, record: names[0], type: names[1], field: names[2], operand: operand.span)
      (steps, bytes, renaming) = (builder.steps, builder.byteCount, builder.renaming)
    }
  }

  @Test("is enough wherever the lane is cut, for every kind of operation with units")
  func isEnough() throws {
    var random = SeededRandom(seed: 31)
    let maker = UnitMaker(replica: ReplicaID(rawValue: .max), epoch: .max)
    var cuts = 0
    for _ in 0..<4000 {
      let first = UInt64(random.next(below: 4000))
      let unit = UnitReference(number: first)
      let runs = (0..<1 + random.next(below: 40)).map { _ in
        UnitSpan(
          first: UnitReference(number: UInt64(random.next(below: 3000))),
          count: UInt64(1 + random.next(below: random.next(below: 4) == 0 ? 3000 : 40)))
      }
      let changes: [FieldChange] = [
        .insertElements([1, 2], after: unit), .moveElement(unit, after: UnitReference(number: first + 1)),
        .replaceElement(unit, 1),
        .insertText(String(repeating: "x", count: 400 + Int(first) / 20), after: unit),
        .removeElements(runs), .removeText(runs),
      ]
      let units = UnitRenaming.Units(old: maker, new: nil, kept: UInt64(random.next(below: 4000)))
      for change in changes {
        let (before, after) = (try Size(change), try Size(units.renamed(change)))
        if case .removeText(let parts) = units.renamed(change), parts.count > runs.count { cuts += 1 }
        #expect(after.steps <= before.steps + before.renaming.steps, "\(change)")
        #expect(after.bytes <= before.bytes + before.renaming.bytes + 4, "\(change)")
      }
    }
    #expect(cuts > 100)
  }

  @Test("a write that would be too much work when issued again is refused immediately")
  func isRefused() async throws {
    let directory = TemporaryDirectory()
    let store = try directory.store()
    try await store.makeAttachedZone()
    let texts = (0..<1600).map { note("n\($0)") }
    for part in [texts[..<800], texts[800...]] {
      try await store.write { tx in
        for text in part {
          try tx.create(text, type: "note")
          try tx.insertText("abcd", at: 0, in: "body", of: text)
        }
      }
    }
    // 42 steps each: 1,100 of them fit. 1,100 of them that are split, with 16 steps more each, do not.
    await #expect(throws: StoreError.self) {
      try await store.write { tx in
        for text in texts[..<1100] { try tx.removeText(1..<3, from: "body", of: text) }
      }
    }
    try await store.write { tx in
      for text in texts[..<700] { try tx.removeText(1..<3, from: "body", of: text) }
    }
  }

  @Test("what is imported has no reserve: a transaction that no replica would fold is not issued again")
  func isMeasured() throws {
    func body(removals: UInt64) throws -> [UInt8] {
      let operations = (0..<removals).map { number in
        LogOperation.update(
          record: "r", type: "t", field: "f",
          .removeText([UnitSpan(first: UnitReference(number: number * 3), count: 1)]))
      }
      let bytes = try transaction(1, 1, operations).encoded()
      var reader = ByteReader(bytes.span.bytes)
      _ = try TransactionHeader.read(from: &reader)
      return bytes.span.bytes.extracting(reader.position...).bytes
    }
    try LaneRewrite.checkFolds(try body(removals: 100))
    let error = try #require(throws: StoreError.self) {
      try LaneRewrite.checkFolds(try body(removals: UInt64(Limits.foldStepsMax)))
    }
    #expect(error.code == .transactionTooLarge)
  }
}
