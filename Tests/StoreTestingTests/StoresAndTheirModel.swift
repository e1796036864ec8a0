import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

/// Three stores that write at random and sync now and then; one clock is in 2099, one is two seconds slow.
@Suite("Stores and their model")
struct StoresAndTheirModel {
  private static let skews: [Int64] = [0, -2000, 2_340_000_000_000]

  /// Lets stores write, compares them with the model at each step, and returns them settled.
  private func run(seed: UInt64, writes: Int, records: Int = 4, fields: Int = 3) async throws
    -> ModelledStores
  {
    var random = SeededRandom(seed: seed).stream(99)
    let stores = try await ModelledStores(seed: seed, skews: Self.skews)
    try await stores.setPolicy(.deleteWins, of: "t0", at: 1)
    try await stores.setPolicy(.updateWins, of: "t0", at: 2)
    let operations = CellOperations(records: records, fields: fields, from: &random)
    for _ in 0..<writes {
      try await stores.write(operations.draw(upTo: 6, from: &random), at: random.next(below: 3))
      stores.wait(milliseconds: Int64(random.next(below: 3) * random.next(below: 1000)))
      if random.chance(20) { try await stores.sync(random.next(below: 3)) }
    }
    return stores
  }

  @Test("after 500 writes, and at each step before, a store equals the model")
  func areEqual() async throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("stores and their model: seed \(seed)")
    let stores = try await run(seed: seed, writes: 500)
    try await stores.settle()
    #expect(stores.model.transactions.count > 250)
    #expect(stores.conflicts > 100 && stores.capped > 50)
    let operations = stores.model.transactions.flatMap(\.operations)
    #expect(operations.contains { if case .moveAway = $0 { true } else { false } })
    #expect(operations.contains { if case .moveHere = $0 { true } else { false } })
    let all = TransactionSet(below: stores.model.transactions.count)
    #expect(stores.devices.allSatisfy { $0.view.folded == all })
  }

  @Test("a model with other facts is detected: a missing transaction, another place, another time of receipt")
  func wrongFactsAreFound() async throws {
    let stores = try await run(seed: 7, writes: 60)
    try await stores.settle()
    let count = stores.model.transactions.count
    let view = stores.devices[0].view

    var lacking = 0
    for number in 0..<count {
      var other = view
      other.folded = TransactionSet((0..<count).filter { $0 != number })
      if differs(stores, stores.model, other) { lacking += 1 }
    }
    #expect(lacking > 0 && lacking < count)

    var late = 0
    for number in 0..<count {
      var other = view
      other.receive(number, atMilliseconds: 1)
      if differs(stores, stores.model, other) { late += 1 }
    }
    // Transactions with heads have another timestamp now; others do not.
    #expect(late > 0 && late < count)

    #expect(!differs(stores, try model(of: stores, placedLaterBy: 0), view))
    // As if nobody had seen anything of others. Not every settled state shows it, but some of eight do.
    var unseen = 0
    for seed in 0..<8 as Range<UInt64> where unseen == 0 {
      let stores = try await run(seed: seed, writes: 60)
      try await stores.settle()
      let model = try model(of: stores, placedLaterBy: stores.model.lastOffset)
      if differs(stores, model, stores.devices[0].view) { unseen += 1 }
    }
    #expect(unseen > 0)
  }

  @Test("a place that is one too late is detected: what was seen there counts as not seen")
  func laterPlaceIsFound() async throws {
    let stores = try await ModelledStores(seed: 1, skews: [0, 0])
    for (device, value) in [1, 2 as UInt8].enumerated() {
      let set = FoldOperation(.set, record: 0, value: FoldValue(rawValue: value))
      try await stores.write([set], at: device)
      try await stores.sync(device)
      try await stores.sync(1 - device)
    }
    let view = stores.devices[0].view
    #expect(mismatch(stores, try model(of: stores, placedLaterBy: 0), view) == nil)
    let found = mismatch(stores, try model(of: stores, placedLaterBy: 1), view)
    #expect(found?.subject == "existence")
    #expect(stores.model.heads(of: "f0", in: "r0", view).map(\.content) == [.value(2)])
  }

  @Test("another policy, and a record that the store does not have, are detected")
  func wrongPoliciesAreFound() async throws {
    let stores = try await ModelledStores(seed: 1, skews: [0, 0])
    try await stores.write([FoldOperation(.create, record: 0)], at: 0)
    try await stores.sync(0)
    try await stores.sync(1)
    try await stores.write([FoldOperation(.delete, record: 0)], at: 0)
    stores.wait(milliseconds: 10)
    let text = FoldOperation(.set, record: 0, value: FoldValue(rawValue: 3))
    try await stores.write([text], at: 1)
    try await stores.settle()
    var view = stores.devices[0].view
    view.policies["t0"] = .deleteWins
    var mismatch = mismatch(stores, stores.model, view)
    #expect(mismatch?.subject == "visibility" && mismatch?.record?.name == "r0")

    var model = stores.model
    let made = LogTransaction(
      replica: ReplicaID(rawValue: 1), epoch: 1, sequence: 1, zone: ModelledStores.zone,
      timestamp: Timestamp(rawValue: 1), operations: [.create(record: "other", type: "t0")])
    view = stores.devices[0].view
    view.fold(try model.append(made))
    mismatch = self.mismatch(stores, model, view)
    #expect(mismatch?.subject == "presence" && mismatch?.record?.name == "other")
    #expect(mismatch?.found == "no such record")

    view = stores.devices[0].view
    view.folded = TransactionSet()
    mismatch = self.mismatch(stores, stores.model, view)
    #expect(mismatch?.subject == "presence" && mismatch?.expected == "no such record")
  }

  @Test("a field that only the store has is detected, and one that only the model has")
  func fieldsAreFound() async throws {
    let stores = try await ModelledStores(seed: 1, skews: [0])
    for field in 0..<2 as Range<UInt8> {
      let one = FoldOperation(.set, record: 0, field: field, value: FoldValue(rawValue: 1))
      try await stores.write([one], at: 0)
    }
    // The first creates the record, and both set a field.
    let made = stores.model.transactions
    let (create, set) = (made[0].operations[0], made[0].operations[1])
    let more = LogOperation.set(record: "r0", type: "t0", field: "f9", value: 1)
    let other = LogOperation.set(record: "r0", type: "t0", field: "f1", value: 2)
    for (first, second, subject) in [
      ([create, set], made[1].operations, nil),
      ([create], made[1].operations, "fields with heads"),
      ([create, set, more], made[1].operations, "fields with heads"),
      ([create, set], [other], "heads"),
    ] {
      var model = ZoneModel(zone: ModelledStores.zone)
      for (var transaction, operations) in zip(made, [first, second]) {
        transaction.operations = operations
        _ = try model.append(transaction)
      }
      let found = mismatch(stores, model, stores.devices[0].view)
      #expect(found?.subject == subject)
      #expect(found?.field == (subject == "heads" ? "f1" : nil))
    }
  }

  // MARK: Helpers

  private func mismatch(_ stores: ModelledStores, _ model: ZoneModel, _ view: ZoneView) -> OracleMismatch? {
    do throws(OracleMismatch) {
      try stores.compareAll(0, model, view)
      return nil
    } catch {
      return error
    }
  }

  private func differs(_ stores: ModelledStores, _ model: ZoneModel, _ view: ZoneView) -> Bool {
    mismatch(stores, model, view) != nil
  }

  /// The model of the same transactions, placed some offsets later.
  private func model(of stores: ModelledStores, placedLaterBy shift: UInt64) throws -> ZoneModel {
    var model = ZoneModel(zone: ModelledStores.zone)
    guard let incarnation = stores.model.incarnation else { return model }
    for fact in stores.facts {
      switch fact {
      case .made(let transaction): _ = try model.append(transaction)
      case .placed(let id, let offset):
        guard let number = model.number(of: id) else { continue }
        model.place(number, at: offset + shift, in: incarnation)
      }
    }
    return model
  }
}
