import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A zone as its owner sees it, and as another account does")
struct ZonesOfOtherOwners {
  let scratch = TemporaryDirectory()
  private let notes = ZoneID(name: "notes")
  private let other = ZoneID(name: "other")

  private func ofAlice(_ zone: ZoneID) -> ZoneID { ZoneID(owner: "alice", name: zone.name) }

  /// Writes references to a zone into a field of each kind, and moves a record there.
  private func write(_ device: Device, _ name: String, in zone: ZoneID, naming target: ZoneID) async throws {
    @Sendable func reference(_ record: Name) -> Value {
      .reference(Reference(zone: target, record: record))
    }
    let record = RecordID(zone: zone, name: Name("record of \(name)"))
    let moved = RecordID(zone: zone, name: Name("moved by \(name)"))
    try await device.store.write { tx in
      for zone in [zone, target] {
        try tx.createZone(zone)
        try tx.attachZone(zone)
      }
      try tx.create(
        record, type: "note", fields: ["one": reference("a"), "both": .array([reference("b"), 7])])
      try tx.insert(reference("c"), into: "set", of: record)
      try tx.put(.map(["in": reference("d")]), at: "key", in: "map", of: record)
      try tx.insertElements([reference("e"), "text"], at: 0, in: "list", of: record)
      try tx.contribute(reference("f"), to: "given", of: record)
      try tx.create(moved, type: "note", fields: ["near": .reference(Reference(record: record.name))])
    }
    try await device.store.write { _ = try $0.move(moved, to: target) }
  }

  /// What a record of ``write(_:_:in:naming:)`` has, as its reader must see it.
  private func expectSeen(_ device: Device, _ name: String, in zone: ZoneID, naming target: ZoneID) throws {
    func reference(_ record: Name) -> Value { .reference(Reference(zone: target, record: record)) }
    let record = RecordID(zone: zone, name: Name("record of \(name)"))
    let moved = RecordID(zone: zone, name: Name("moved by \(name)"))
    try device.store.read { tx in
      let read = [try tx.value(of: "one", in: record), try tx.value(of: "both", in: record)]
      #expect(read == [reference("a"), .array([reference("b"), 7])])
      #expect(try tx.elements(of: "set", in: record) == [reference("c")])
      #expect(try tx.contains(reference("c"), in: "set", of: record))
      #expect(try tx.entries(of: "map", in: record) == ["key": .map(["in": reference("d")])])
      #expect(try tx.list("list", of: record) == [reference("e"), "text"])
      #expect(try tx.contributions(of: "given", in: record)?.map(\.payload) == [reference("f")])
      let contents = try tx.existence(of: moved).map(\.content)
      #expect(contents == [.moved(to: RecordID(zone: target, name: moved.name))])
      let copy = RecordID(zone: target, name: moved.name)
      let near = try tx.value(of: "near", in: copy)
      #expect(near == .reference(Reference(zone: zone, record: record.name)))
      // The index of references finds it by the name that this store has for it.
      let holders = try tx.holders(of: record, in: target)
      #expect(holders.map(\.record) == [copy])
      for (element, field) in [("a", "one"), ("c", "set"), ("e", "list")] as [(Name, Name)] {
        let target = RecordID(zone: target, name: element)
        let fields = try tx.holders(of: target, in: zone).filter { $0.record == record }.map(\.field)
        #expect(fields == [field])
      }
      var places: [RecordID] = []
      try tx.history(record: copy) { entry in
        for case .moveHere(copy.name, _, let place) in entry.transaction.operations { places.append(place) }
        return true
      }
      #expect(places == [moved])
    }
  }

  @Test(
    "Owner and participant write references and moves, and have the same bytes, digests and records",
    arguments: RemotePlace.Kind.allCases)
  func twoViews(kind: RemotePlace.Kind) async throws {
    let place = try await RemotePlace(kind, in: scratch.path)
    let alice = try Device(in: scratch.path, "alice", seed: 1)
    let bob = try Device(in: scratch.path, "bob", seed: 2)
    let shared = ParticipantsRemote(remote: place.remote, owner: "alice")
    try await write(alice, "alice", in: notes, naming: other)
    try await alice.sync(place.remote)
    try await bob.sync(shared)
    try await write(bob, "bob", in: ofAlice(notes), naming: ofAlice(other))
    try await bob.sync(shared)
    try await alice.sync(place.remote)

    let (owner, participant) = (try alice.digests(), try bob.digests())
    #expect(owner.count == 2 && participant.count == 2)
    for zone in [notes, other] { #expect(owner["\(zone)"] == participant["\(ofAlice(zone))"]) }
    for name in ["alice", "bob"] {
      try expectSeen(alice, name, in: notes, naming: other)
      try expectSeen(bob, name, in: ofAlice(notes), naming: ofAlice(other))
    }
    // A fold from the log gives the same, and a copy by export and import too.
    for device in [alice, bob] {
      #expect(try device.store.verify().isSound)
      _ = try await device.store.rebuild()
    }
    let copy = try Device(in: scratch.path, "copy", seed: 3)
    try await copy.importLog(of: bob)
    for device in [bob, copy] {
      let digests = try device.digests()
      #expect(digests == participant)
      try expectSeen(device, "alice", in: ofAlice(notes), naming: ofAlice(other))
    }
    for device in [alice, bob, copy] { device.store.close() }
  }

  @Test("A zone of another owner cannot name one of this store's user, whose account is not known")
  func ownZoneFromAnothers() async throws {
    let bob = try Device(in: scratch.path, "bob", seed: 2)
    let (mine, theirs) = (ZoneID(name: "mine"), ofAlice(notes))
    try await bob.set("title", of: "first", to: 1, in: mine)
    try await bob.set("title", of: "second", to: 1, in: theirs)
    let digests = try bob.digests()
    let (first, second) = (RecordID(zone: mine, name: "first"), RecordID(zone: theirs, name: "second"))
    let reference = Value.reference(Reference(zone: mine, record: "first"))
    let attempts: [@Sendable (inout WriteTransaction) throws -> Void] = [
      { try $0.set("to", of: second, to: reference) },
      { try $0.set("to", of: second, to: .map(["in": .array([reference])])) },
      { try $0.insert(reference, into: "set", of: second) },
      { try $0.remove(reference, from: "set", of: second) },
      { _ = try $0.move(first, to: theirs) },
    ]
    for attempt in attempts {
      let error = await #expect(throws: StoreError.self) { try await bob.store.write { try attempt(&$0) } }
      #expect(error?.code == .valueInvalid)
      #expect(error?.hint.contains("another owner") ?? false)
    }
    // The other way the zone is named by its owner; and a third account's as it is.
    try await bob.store.write { tx in
      try tx.set("to", of: first, to: .reference(Reference(zone: theirs, record: "second")))
      try tx.set("to", of: second, to: .reference(Reference(zone: ZoneID("carol/list"), record: "x")))
      try tx.clear("to", of: first)
      try tx.clear("to", of: second)
    }
    #expect(digests.count == 2)
    bob.store.close()
  }
}
