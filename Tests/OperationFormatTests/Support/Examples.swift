import OperationFormat

/// Transactions that several suites use.
enum Examples {
  static let minimal = LogTransaction(
    replica: ReplicaID(rawValue: 1), epoch: 0, sequence: 1, zone: ZoneID(name: "z"),
    timestamp: Timestamp(rawValue: 0), operations: [.delete(record: "r")])

  /// An earlier program wrote it: it states its zone's owner.
  static let full: LogTransaction = {
    var transaction = fullWithoutOwner
    transaction.zone.owner = "ann"
    transaction.statesOwner = true
    return transaction
  }()

  static let fullWithoutOwner = LogTransaction(
    replica: ReplicaID(rawValue: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff), epoch: 300, sequence: 1_000_000,
    zone: ZoneID(name: "notes"),
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

  static var contribution: LogTransaction {
    var transaction = minimal
    transaction.operations = [.update(record: "r", type: "T", field: "f", .contribute(["k": 7]))]
    return transaction
  }

  static var changes: LogTransaction {
    let other = UnitMaker(replica: ReplicaID(rawValue: 7), epoch: 2)
    func unit(_ number: UInt64, _ maker: UnitMaker? = nil) -> UnitReference {
      UnitReference(maker: maker, number: number)
    }
    let changes: [FieldChange] = [
      .add(-5), .insert("x"), .remove(1), .put(key: "k", 2), .removeKey("k"),
      .insertElements([1, "a"], after: nil), .moveElement(unit(5), after: unit(300, other)),
      .replaceElement(unit(0), true),
      .removeElements([
        UnitSpan(first: unit(0), count: 3), UnitSpan(first: unit(4, other), count: 1),
        UnitSpan(first: unit(9, other), count: 2),
      ]), .insertText("ä𝄞", after: unit(128)), .removeText([UnitSpan(first: unit(129), count: 2)]),
    ]
    var transaction = minimal
    transaction.operations = changes.map { .update(record: "r", type: "T", field: "f", $0) }
    return transaction
  }

  static var moves: LogTransaction {
    var transaction = minimal
    transaction.writeID = 5
    transaction.operations = [
      .moveAway(record: "r", to: RecordID(zone: ZoneID(owner: "ann", name: "b"), name: "r")),
      .moveHere(record: "s", type: "T", from: RecordID(zone: ZoneID(name: "ü"), name: "s")),
      // Another name in the same zone is another place.
      .moveAway(record: "s", to: RecordID(zone: ZoneID(name: "z"), name: "t")),
    ]
    return transaction
  }

  static var unknown: LogTransaction {
    var transaction = minimal
    transaction.names = ["unused", "r", "T", "also unused"]
    transaction.operations = [
      .unknown(kind: 99, payload: [0, 3, 255]), .create(record: "r", type: "T"),
      .unknown(kind: .max, payload: []),
    ]
    return transaction
  }
}
