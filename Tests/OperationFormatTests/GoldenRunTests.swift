import Testing

@testable import OperationFormat

@Suite("Runs of earlier versions")
struct GoldenRunTests {
  /// Two letters, a correction, a new record, and a transaction that is written as it is.
  static func example() throws -> RunExample {
    var example = RunExample(context: RunExample.context)
    func append(
      _ milliseconds: UInt64, _ counter: UInt16 = 0, delay: Int64 = 0, operations: [LogOperation],
      _ change: (inout LogTransaction) -> Void = { _ in }
    ) throws {
      let context = example.context
      var transaction = LogTransaction(
        replica: context.replica, epoch: context.epoch,
        sequence: context.firstSequence + UInt64(example.transactions.count), zone: context.zone,
        timestamp: Timestamp(milliseconds: 1_764_000_000_000 + milliseconds, counter: counter),
        operations: operations)
      change(&transaction)
      try example.append(transaction, delay: delay)
    }
    func text(_ change: FieldChange) -> [LogOperation] {
      [.update(record: "n1", type: "Note", field: "body", change)]
    }
    try append(0, operations: text(.insertText("H", after: nil))) {
      $0.author = "ann"
      $0.base = Base(incarnation: example.context.incarnation, offset: 5)
    }
    try append(150, operations: text(.insertText("ü", after: UnitReference(number: 0))))
    try append(
      300, delay: -2, operations: text(.removeText([UnitSpan(first: UnitReference(number: 1), count: 1)])))
    let record: Name = "8F14E45F-CEEA-467F-9B5C-0E02B2C3D479"
    try append(
      300, 1,
      operations: [
        .create(record: record, type: "Note"),
        .set(record: record, type: "Note", field: "title", value: "plan"),
        .set(record: record, type: "Note", field: "made", value: .date(microseconds: 1_764_000_000_300_000)),
        .set(record: record, type: "Note", field: "size", value: -300),
        .set(
          record: record, type: "Note", field: "of",
          value: .reference(Reference(record: "n1", rule: .cascade))),
        .set(record: record, type: "Note", field: "done", value: false),
      ]
    ) {
      $0.author = "ann"
      $0.label = "Make a note"
      $0.schemaVersion = 2
      $0.writeID = 0x0807_0605_0403_0201
      $0.base = Base(incarnation: IncarnationID(rawValue: 100), offset: 6)
    }
    try append(400, operations: [.unknown(kind: 99, payload: [7])])
    return example
  }

  @Test("give back their transactions, and are written as they were", arguments: RunCodecTests.layouts)
  func open(_ layout: RunLayout) throws {
    let example = try Self.example()
    let bytes = try GoldenFileTests.read("run-\(layout)")
    let found = try RunExample.decoded(bytes, layout, example.context, bytesMax: example.byteCount)
    #expect(found.transactions == example.transactions)
    #expect(found.delays == example.delays)
    #expect(example.encoded(layout) == bytes)
  }
}
