import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of ZonesAndNames.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Zones and names")
struct ZonesPage {
  // page
  struct Settings: Model {
    static let type: Name = "settings"
    let currency = Field<String>("currency", default: "EUR")
  }

  struct Expense: Model {
    static let type: Name = "expense"
    let title = Field<String>("title")
    let cents = Field<Int>("cents")
    let payer = Field<Ref<Member>?>("payer", .nullify)
  }

  struct Member: Model {
    static let type: Name = "member"
    let name = Field<String>("name")
  }

  func openStore(in directory: String) throws -> Store {
    try Store(
      directory, .durable, models: [Settings.self, Expense.self, Member.self],
      zones: [.synced("household"), .local("device")])
  }
  // page end

  // page
  func addTrip(_ name: String, to store: Store) async throws -> ZoneID {
    let zone = ZoneID(name: Name("trip-\(UUID().uuidString)"))
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)  // without this line it stays on this device
      try tx.create(Expense.self, in: zone) { $0.title = name }
    }
    return zone
  }
  // page end

  // page
  func projectReplicator(_ store: Store, _ remote: any RemoteLog, _ opened: ZoneID?) -> LogReplicator {
    var configuration = ReplicatorConfiguration()
    configuration.zonePriority = { $0 == opened ? 1 : 0 }  // its changes come first in each round
    return LogReplicator(store: store, remote: remote, zones: .attached, configuration: configuration)
  }

  /// The projects that others have and this device does not, to show them as such.
  func projectsElsewhere(_ store: Store) throws -> [ZoneID] { try store.read { try $0.zones(.offered) } }

  /// Fetches a project; when it returns, its records are here.
  func open(_ project: ZoneID, _ store: Store, _ replicator: LogReplicator) async throws {
    try await store.write { try $0.attachZone(project) }
    try await replicator.syncOnce(zones: [project])
  }

  /// Frees the space of a project here. The remote keeps it.
  func remove(_ project: ZoneID, from store: Store) async throws {
    try await store.write { try $0.evictZone(project) }
    _ = try await store.local.reclaim()
  }
  // page end

  // page
  func setCurrency(_ currency: String, in store: Store) async throws {
    let settings = Ref<Settings>(in: "household", "settings")
    try await store.write { tx in
      if try !tx.contains(settings) { try tx.create(Settings.self, in: "household", named: settings.name) }
      tx[settings].currency = currency
    }
  }
  // page end

  // page
  func move(_ expense: Ref<Expense>, to zone: ZoneID, in store: Store) async throws -> Ref<Expense> {
    try await store.write { tx in Ref(try tx.move(expense.record, to: zone)) }
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("list projects of others, fetch one, and remove it again")
  func projects() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let (ann, bob) = (try openStore(in: directory.path + "/c"), try openStore(in: directory.path + "/d"))
    let (bridge, tunnel) = (try await addTrip("Bridge", to: ann), try await addTrip("Tunnel", to: ann))
    try await LogReplicator(store: ann, remote: remote).syncOnce()
    let replicator = projectReplicator(bob, remote, bridge)
    try await replicator.syncOnce()
    #expect(try Set(projectsElsewhere(bob)) == [bridge, tunnel])
    try await open(bridge, bob, replicator)
    #expect(try bob.fetch(Expense.all).map(\.title) == ["Bridge"])
    #expect(try projectsElsewhere(bob) == [tunnel])
    try await remove(bridge, from: bob)
    #expect(try bob.count(Expense.all) == 0)
    #expect(try Set(projectsElsewhere(bob)) == [bridge, tunnel])
    try await replicator.syncOnce()
    #expect(try bob.count(Expense.all) == 0)
  }

  @Test("make one record of settings on two devices, and zones that appear elsewhere")
  func run() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    let (ann, bob) = (try openStore(in: directory.path + "/a"), try openStore(in: directory.path + "/b"))
    func sync() async throws {
      for store in [ann, bob, ann] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    try await setCurrency("USD", in: ann)
    try await setCurrency("CHF", in: bob)
    let trip = try await addTrip("Train", to: ann)
    try await sync()
    for store in [ann, bob] {
      #expect(try store.count(Settings.all) == 1)
      #expect(try store.fetch(Expense.all.in(trip)).map(\.title) == ["Train"])
    }
    #expect(try store(ann, shows: "currency") == store(bob, shows: "currency"))

    // A reference to a record of another zone names that zone, and no rule applies to it.
    let expense = try await ann.write { tx in
      let member = try tx.create(Member.self, in: "household") { $0.name = "Ann" }
      return try tx.create(Expense.self, in: "household") { $0.payer = member }
    }
    let moved = try await move(expense, to: trip, in: ann)
    #expect(try ann.fetch(expense)?.id == moved)
    #expect(try !ann.read { try $0.contains(expense) })
    let member = try #require(try ann.fetch(moved)?.payer)
    #expect(moved.zone == trip && member.zone == "household")
    try await ann.write { try $0.delete(member) }
    #expect(try ann.fetch(moved)?.payer == member)

    // A record that is made again starts empty.
    let settings = Ref<Settings>(in: "household", "settings")
    try await ann.write { tx in
      try tx.delete(settings)
      try tx.create(Settings.self, in: "household", named: "settings")
    }
    #expect(try ann.fetch(settings)?.currency == "EUR")
    try await ann.write { try $0.deleteZone(trip) }
    try await sync()
    #expect(try bob.read { try $0.zones() } == ["device", "household"])

    // A declared zone that was deleted is made again by the next opening.
    try await ann.write { try $0.deleteZone("household") }
    try await sync()
    #expect(try bob.read { try $0.zones() } == ["device"])
    bob.close()
    let again = try openStore(in: directory.path + "/b")
    #expect(try again.read { try $0.attachment(of: "household") } == .attached)
    #expect(try again.count(Settings.all) == 0)
  }

  private func store(_ store: Store, shows field: Name) throws -> Value? {
    try store.read { try $0.value(of: field, in: RecordID(zone: "household", name: "settings")) }
  }
}
