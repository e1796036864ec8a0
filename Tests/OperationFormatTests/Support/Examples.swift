import OperationFormat

/// Transactions that several suites use.
enum Examples {
  static let minimal = LogTransaction(
    replica: ReplicaID(rawValue: 1), epoch: 0, sequence: 1, zone: ZoneID(name: "z"),
    timestamp: Timestamp(rawValue: 0), operations: [.delete(record: "r")])

  static let full = LogTransaction(
    replica: ReplicaID(rawValue: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff), epoch: 300, sequence: 1_000_000,
    zone: ZoneID(owner: "ann", name: "notes"),
    base: Base(
      incarnation: IncarnationID(rawValue: 0xffee_ddcc_bbaa_9988_7766_5544_3322_1100), offset: 5),
    parent: TransactionID(replica: ReplicaID(rawValue: 2), epoch: 1, sequence: 9),
    timestamp: Timestamp(milliseconds: 1_631_231_046_000, counter: 3), writeID: 0x0102_0304_0506_0708,
    author: "ann@laptop", label: "Tidy up", schemaVersion: 200,
    operations: [
      .create(record: "note-1", type: "Note"),
      .set(record: "note-1", type: "Note", field: "title", value: "Milk"),
      .set(record: "note-1", type: "Note", field: "done", value: false),
      .delete(record: "note-2"),
    ])

  static var unknown: LogTransaction {
    var transaction = minimal
    transaction.names = ["unused", "r", "T", "also unused"]
    transaction.operations = [
      .unknown(kind: 9, payload: [0, 3, 255]), .create(record: "r", type: "T"),
      .unknown(kind: .max, payload: []),
    ]
    return transaction
  }
}
