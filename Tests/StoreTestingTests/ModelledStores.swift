import Synchronization

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

/// Real stores that sync one zone through a remote in memory, and the model of the zone.
final class ModelledStores {
  /// A store, and what it has as far as the test has seen.
  struct Device {
    let store: LocalStore
    let replicator: LogReplicator
    var view = ZoneView()
    /// Its own zones, to which records move.
    var others: [ZoneID: (model: ZoneModel, view: ZoneView)] = [:]
    /// How far its log was read.
    var position = Position.start
  }

  /// The facts that the model got, in order.
  enum Fact {
    case made(LogTransaction)
    case placed(TransactionID, offset: UInt64)
  }

  static let zone = ZoneID(name: "notes")
  /// The zones to which records move, and from which they return.
  private static let elsewhere = [ZoneID(name: "elsewhere"), ZoneID(name: "beyond")]
  private let zone = ModelledStores.zone
  private let directory = TemporaryDirectory()
  private let remote: MemoryRemote
  private let now: Now
  private(set) var devices: [Device] = []
  private(set) var model = ZoneModel(zone: ModelledStores.zone)
  private(set) var facts: [Fact] = []
  /// When and where the remote received which transaction.
  private var receipts: [(number: Int, offset: UInt64, milliseconds: UInt64?)] = []
  private var token: ChangeToken?
  /// How many conflicts were compared, and how many heads had a capped timestamp.
  private(set) var conflicts = 0
  private(set) var capped = 0

  /// True time, for all clocks.
  private final class Now: Sendable {
    private let time = Mutex<Int64>(1_750_000_000_000)
    var milliseconds: Int64 {
      get { time.withLock { $0 } }
      set { time.withLock { $0 = newValue } }
    }
  }

  /// Opens a store for each clock.
  ///
  /// - Parameter skews: the error of each clock, in milliseconds.
  init(seed: UInt64, skews: [Int64]) async throws {
    let now = Now()
    self.now = now
    remote = MemoryRemote(
      identity: RemoteID(rawValue: 1), receivedMilliseconds: { UInt64(now.milliseconds) })
    for (index, skew) in skews.enumerated() {
      let random = Mutex(SeededRandom(seed: seed).stream(UInt64(index)))
      let bits = Bits { random.withLock { $0.next() } }
      var configuration = StoreConfiguration()
      configuration.isUnsynced = true
      configuration.mapBytes = 64 << 20
      configuration.wallMilliseconds = { now.milliseconds + skew }
      configuration.makeRandom = bits.next
      let store = try LocalStore(
        directory: "\(directory.path)/\(index)", durability: .consistent, configuration: configuration)
      var replicatorConfiguration = ReplicatorConfiguration()
      replicatorConfiguration.makeRandom = bits.next
      devices.append(
        Device(
          store: store,
          replicator: LogReplicator(store: store, remote: remote, configuration: replicatorConfiguration)))
      for zone in Self.elsewhere { devices[index].others[zone] = (ZoneModel(zone: zone), ZoneView()) }
      try await store.write { tx in
        try tx.createZone(Self.zone)
        try tx.attachZone(Self.zone)
        for zone in Self.elsewhere { try tx.createZone(zone) }
      }
    }
  }

  /// Random bits, separate because an initializer captures them.
  private struct Bits { let next: @Sendable () -> UInt64 }

  // MARK: Actions

  func wait(milliseconds: Int64) { now.milliseconds += milliseconds }

  func setPolicy(_ policy: ExistencePolicy, of type: Name, at device: Int) async throws {
    try await devices[device].store.setExistencePolicy(policy, of: type)
    devices[device].view.policies[type] = policy
    for zone in Self.elsewhere { devices[device].others[zone]?.view.policies[type] = policy }
  }

  /// Writes at a store, adds it to the model, and compares the changed records.
  func write(_ operations: [FoldOperation], at device: Int) async throws {
    let zone = zone
    try await devices[device].store.write { tx in
      for operation in operations { try Self.perform(operation, in: zone, &tx) }
    }
    let fresh = try readLog(of: device)
    try devices[device].store.read { read in
      for number in fresh {
        try model.compare(
          read, devices[device].view, besides: others(of: device), records: model.records(touchedBy: number))
      }
    }
  }

  /// Performs an operation; a created record returns from the place to which it moved, if it exists there.
  private static func perform(
    _ operation: FoldOperation, in zone: ZoneID, _ tx: inout WriteTransaction
  ) throws {
    let record = RecordID(zone: zone, name: operation.recordName)
    var other: ZoneID?
    if operation.kind == .moveAway {
      other = elsewhere[Int(operation.element)]
      let copy = RecordID(zone: elsewhere[Int(operation.element)], name: record.name)
      if try tx.contains(copy) { try tx.delete(copy) }
    }
    if operation.kind == .create, try !tx.contains(record) {
      for place in elsewhere.map({ RecordID(zone: $0, name: record.name) }) where try tx.contains(place) {
        try tx.move(place, to: zone)
        return
      }
    }
    try tx.perform(operation, in: zone, movingTo: other)
  }

  /// Performs a round at a store, adds it to the model, and compares everything.
  func sync(_ device: Int) async throws {
    _ = try await devices[device].replicator.syncOnce()
    try await readRemote(by: device)
    _ = try readLog(of: device)
    let state = try devices[device].store.syncState().zones.first { $0.zone == zone }
    let known = state?.token?.offset ?? 0
    for receipt in receipts where receipt.offset <= known {
      devices[device].view.receive(receipt.number, atMilliseconds: receipt.milliseconds)
    }
    try compareAll(device)
  }

  /// Syncs until all have everything.
  func settle() async throws {
    for _ in 0..<2 {
      for device in devices.indices { try await sync(device) }
    }
  }

  func compareAll(_ device: Int) throws {
    try compareAll(device, model, devices[device].view)
    for name in model.recordNames {
      let record = model.heads(of: name, devices[device].view)
      conflicts += record.conflicts.count
      for head in record.existence + record.fields.flatMap(\.heads) {
        guard let made = model.number(of: head.operation.transaction) else { continue }
        if model.transactions[made].timestamp != head.timestamp { capped += 1 }
      }
    }
  }

  /// Compares a store with another model, or with another view.
  func compareAll(_ device: Int, _ model: ZoneModel, _ view: ZoneView) throws(OracleMismatch) {
    do {
      try devices[device].store.read { read in try model.compareAll(read, view, besides: others(of: device)) }
    } catch let mismatch as OracleMismatch {
      throw mismatch
    } catch {
      throw OracleMismatch("a reading", expected: "no error", found: "\(error)")
    }
  }

  // MARK: Helpers

  private func others(of device: Int) -> StoreModel {
    var store = StoreModel()
    for (model, view) in devices[device].others.values { store.add(model, view) }
    return store
  }

  /// Adds the unread part of a store's log to the models.
  ///
  /// - Returns: its numbers.
  private func readLog(of device: Int) throws -> [Int] {
    var entries: [LogEntry] = []
    try devices[device].store.read { read in
      try read.history(after: devices[device].position) { entry in
        entries.append(entry)
        return true
      }
    }
    var numbers: [Int] = []
    for entry in entries {
      devices[device].position = entry.position
      guard entry.transaction.zone == zone else {
        try add(entry.transaction, toOwnZoneOf: device)
        continue
      }
      if model.number(of: entry.transaction.id) == nil { facts.append(.made(entry.transaction)) }
      let number = try model.append(entry.transaction)
      devices[device].view.fold(number)
      numbers.append(number)
    }
    return numbers
  }

  private func add(_ transaction: LogTransaction, toOwnZoneOf device: Int) throws {
    guard var other = devices[device].others[transaction.zone] else { return }
    other.view.fold(try other.model.append(transaction))
    devices[device].others[transaction.zone] = other
  }

  /// Adds the unread part of the remote's log to the model.
  private func readRemote(by device: Int) async throws {
    if token == nil {
      let state = try devices[device].store.syncState().zones.first { $0.zone == zone }
      guard let incarnation = state?.token?.incarnation else { return }
      token = .start(of: zone, incarnation)
    }
    while let from = token,
      case .segments(let segments, _) = try await remote.segments(after: from, bytesMax: 1 << 20),
      !segments.isEmpty
    {
      for stored in segments {
        let header = try SegmentPacker.unpack(stored.bytes).header
        for sequence in header.sequences {
          let id = TransactionID(replica: header.replica, epoch: header.epoch, sequence: sequence)
          guard let number = model.number(of: id) else {
            throw OracleMismatch(
              "transaction \(id) at offset \(stored.offset)", expected: "one", found: "none")
          }
          model.place(number, at: stored.offset, in: from.incarnation)
          facts.append(.placed(id, offset: stored.offset))
          receipts.append((number, stored.offset, stored.receivedMilliseconds))
        }
        token?.offset = stored.offset
        token?.chain = stored.chain
        token?.hash = header.contentHash
      }
    }
  }
}
