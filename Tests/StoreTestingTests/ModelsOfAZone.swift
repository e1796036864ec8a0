import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

/// Transactions made by hand, and what the model says of them.
@Suite("Models of a zone")
struct ModelsOfAZone {
  private let zone = ZoneID(name: "notes")
  private let incarnation = IncarnationID(rawValue: 5)

  private func transaction(
    _ replica: UInt128, sequence: UInt64 = 1, epoch: UInt32 = 1, base: UInt64? = nil,
    parent: TransactionID? = nil, at milliseconds: UInt64 = 1, _ operations: LogOperation...
  ) -> LogTransaction {
    LogTransaction(
      replica: ReplicaID(rawValue: replica), epoch: epoch, sequence: sequence, zone: zone,
      base: base.map { Base(incarnation: incarnation, offset: $0) }, parent: parent,
      timestamp: Timestamp(milliseconds: milliseconds, counter: 0), operations: operations)
  }

  private func set(_ field: Name, to value: Value, type: Name = "note") -> LogOperation {
    .set(record: "r", type: type, field: field, value: value)
  }

  private func view(_ count: Int) -> ZoneView {
    var view = ZoneView()
    for number in 0..<count { view.fold(number) }
    return view
  }

  @Test("a record is its heads: fields by name, including cleared ones, greatest first")
  func heads() throws {
    var model = ZoneModel(zone: zone)
    let first = transaction(1, .create(record: "r", type: "note"), set("b", to: 1), set("a", to: .null))
    _ = try model.append(first)
    _ = try model.append(transaction(2, at: 2, set("b", to: 2, type: "task")))
    let record = model.heads(of: "r", view(2))
    #expect(record.fields.map(\.name) == ["a", "b"])
    #expect(record.fields[1].heads.map(\.content) == [.value(2), .value(1)])
    #expect(record.fields[1].heads[1].operation == OperationID(transaction: first.id, index: 1))
    #expect(record.existence.map(\.content) == [.alive(type: "task"), .alive(type: "note")])
    var store = StoreModel()
    store.add(model, view(2))
    #expect(
      store.record(record, in: zone)
        == Record(id: RecordID(zone: zone, name: "r"), type: "task", fields: ["b": 2]))
    // The two have different types, so they disagree about the record's existence too.
    #expect(record.conflicts.map(\.field) == [nil, "b"])
    #expect(model.heads(of: "b", in: "r", view(1)).map(\.content) == [.value(1)])
    #expect(model.heads(of: nil, in: "r", view(0)) == [])
    #expect(model.heads(of: "c", in: "r", view(2)) == [] && model.heads(of: nil, in: "s", view(2)) == [])
  }

  @Test("a record that moved is where its way ends: at a copy, at one that is to come, or at a deletion")
  func moves() throws {
    let trip = ZoneID(name: "trip")
    let (home, away) = (RecordID(zone: zone, name: "r"), RecordID(zone: trip, name: "r"))
    var model = ZoneModel(zone: zone)
    let cascade = Value.reference(Reference(record: "r", rule: .cascade))
    _ = try model.append(
      transaction(
        1, .create(record: "r", type: "note"), .create(record: "h", type: "note"),
        .set(record: "h", type: "note", field: "f", value: cascade), .moveAway(record: "r", to: away)))
    var store = StoreModel()
    store.add(model, view(1))
    func isShown() -> Bool { store.record(model.heads(of: "h", view(1)), in: zone) != nil }
    #expect(store.place(of: home) == .elsewhere(away) && isShown())
    var other = ZoneModel(zone: trip)
    store.add(other, view(0))
    #expect(store.place(of: home) == .elsewhere(away) && store.place(of: away) == .nowhere(away) && isShown())
    for (operation, place) in [
      (LogOperation.moveHere(record: "r", type: "note", from: home), RecordPlace.here(away)),
      (.delete(record: "r"), .nowhere(away)), (.moveAway(record: "r", to: home), .elsewhere(home)),
    ] {
      _ = try other.append(
        LogTransaction(
          replica: ReplicaID(rawValue: 1), epoch: 0, sequence: UInt64(other.transactions.count) + 1,
          zone: trip,
          timestamp: Timestamp(rawValue: UInt64(other.transactions.count) + 5), operations: [operation]))
      store.add(other, view(other.transactions.count))
      #expect(store.place(of: home) == place)
      #expect(isShown() == (place != .nowhere(away)))
      #expect(store.forwardings(in: zone) == [Forwarding(from: home, to: away, place: store.place(of: away))])
    }
    #expect(store.holders(in: trip)["r"]?.map(\.target) == [home])
  }

  @Test("the policy of the winner's type decides whether a record exists")
  func policies() throws {
    var model = ZoneModel(zone: zone)
    _ = try model.append(transaction(1, at: 1, set("a", to: 1)))
    _ = try model.append(transaction(2, at: 2, .delete(record: "r")))
    _ = try model.append(transaction(3, at: 3, set("a", to: 2)))
    let early = model.heads(of: "r", view(2))
    let late = model.heads(of: "r", view(3))
    for (policy, isEarly, isLate) in [
      (ExistencePolicy.latest, false, true), (.deleteWins, false, false), (.updateWins, true, true),
    ] {
      #expect((early.visibleType(["note": policy]) != nil) == isEarly, "\(policy)")
      #expect((late.visibleType(["note": policy]) != nil) == isLate, "\(policy)")
    }
    #expect(late.visibleType(["task": .deleteWins]) == "note")
  }

  @Test("a creation clears the fields that it has seen, also in its own transaction, and no others")
  func creationClears() throws {
    var model = ZoneModel(zone: zone)
    _ = try model.append(transaction(1, set("a", to: 1), .create(record: "r", type: "note"), set("b", to: 1)))
    _ = try model.append(transaction(2, set("a", to: 2)))
    _ = try model.append(
      transaction(1, sequence: 2, .delete(record: "r"), .create(record: "r", type: "note")))
    let fields = model.heads(of: "r", view(3)).fields
    #expect(fields.map(\.name) == ["a"])
    #expect(fields[0].heads.map(\.content) == [.value(2)])
    #expect(model.records(touchedBy: 2) == ["r"])
  }

  @Test(
    "an operation of an unknown kind is kept and changes nothing; it has its place in the order of operations"
  )
  func unknown() throws {
    var model = ZoneModel(zone: zone)
    let made = transaction(1, .unknown(kind: 99, payload: [1, 2]), set("a", to: 1))
    let number = try model.append(made)
    #expect(model.transactions[number] == made)
    #expect(model.heads(of: "a", in: "r", view(1)).map(\.operation.index) == [1])
    #expect(model.records(touchedBy: number) == ["r"])
  }

  @Test("an identity continues its parent: the first transaction has it")
  func parent() throws {
    var model = ZoneModel(zone: zone)
    let first = transaction(1, set("a", to: 1))
    _ = try model.append(first)
    _ = try model.append(transaction(1, sequence: 2, at: 2, set("a", to: 2)))
    _ = try model.append(transaction(9, epoch: 4, parent: first.id, at: 3, set("a", to: 3)))
    _ = try model.append(transaction(9, sequence: 2, epoch: 4, at: 4, set("a", to: 4)))
    #expect(model.seen(by: 3) == TransactionSet([0, 2]))
    #expect(model.heads(of: "a", in: "r", view(4)).map(\.content) == [.value(4), .value(2)])
  }

  @Test("a repeated transaction keeps its number; another one with its identity is impossible")
  func identities() throws {
    var model = ZoneModel(zone: zone)
    let made = transaction(1, set("a", to: 1))
    let number = try model.append(made)
    let again = try model.append(made)
    #expect(again == number && model.number(of: made.id) == number && model.transactions.count == 1)
    #expect(model.number(of: transaction(2).id) == nil)
    #expect(throws: OracleMismatch.self) { try model.append(transaction(1, set("a", to: 2))) }
  }

  @Test("a base beyond the log's end, or in another incarnation, is impossible")
  func bases() throws {
    var model = ZoneModel(zone: zone)
    #expect(throws: OracleMismatch.self) { try model.append(transaction(2, base: 1, set("a", to: 1))) }
    let number = try model.append(transaction(1, set("a", to: 1)))
    model.place(number, at: 1, in: incarnation)
    #expect(model.place(of: number) == 1 && model.lastOffset == 1)
    let seeing = try model.append(transaction(2, base: 1, set("a", to: 2)))
    #expect(model.seen(by: seeing) == TransactionSet([number]) && model.place(of: seeing) == nil)
    #expect(throws: OracleMismatch.self) { try model.append(transaction(3, base: 2, set("a", to: 1))) }
    var other = transaction(3, set("a", to: 1))
    other.base = Base(incarnation: IncarnationID(rawValue: 6), offset: 1)
    #expect(throws: OracleMismatch.self) { try model.append(other) }
    #expect(model.transactions.count == 2)
  }

  @Test("a mismatch has record, field, the expected and the found value")
  func mismatchIsReadable() {
    let mismatch = OracleMismatch(
      "heads", of: RecordID(zone: zone, name: "r"), field: "a", expected: "[]", found: "[null]")
    #expect(mismatch.description == "heads of field “a” of record notes:r: expected []; found [null]")
  }
}
