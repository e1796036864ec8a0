import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

/// A store in its own directory, with the actions of its user.
final class Device: Sendable {
  let directory: String
  private let opened: Mutex<LocalStore>
  private let clock: @Sendable () -> Int64
  private let configure: @Sendable (inout StoreConfiguration) -> Void
  let seed: UInt64
  /// The random source of its replicators' incarnations: never the same twice.
  let makeRandom: @Sendable () -> UInt64

  init(
    in parent: String, _ name: String, seed: UInt64, clock: @escaping @Sendable () -> Int64 = { 1_000_000 },
    configure: @escaping @Sendable (inout StoreConfiguration) -> Void = { _ in }
  ) throws {
    directory = "\(parent)/\(name).store"
    self.seed = seed
    makeRandom = seededBits(seed &+ 77)
    self.clock = clock
    self.configure = configure
    opened = Mutex(try Self.open(directory, seed, clock, configure))
  }

  private static func open(
    _ directory: String, _ seed: UInt64, _ clock: @escaping @Sendable () -> Int64,
    _ configure: (inout StoreConfiguration) -> Void
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    configuration.mapBytes = 64 << 20
    configuration.wallMilliseconds = clock
    configuration.makeRandom = seededBits(seed)
    // Large bytes stay values, unless a test sets something else.
    configuration.assetThresholdBytes = .max
    configure(&configuration)
    return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
  }

  var store: LocalStore { opened.withLock { $0 } }

  /// Closes the store and opens it again, as after a crash.
  func reopen() throws {
    store.close()
    let again = try Self.open(directory, seed, clock, configure)
    opened.withLock { $0 = again }
  }

  func set(_ field: Name, of name: Name, to value: Value, in zone: ZoneID = zone) async throws {
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      let record = RecordID(zone: zone, name: name)
      if try !tx.contains(record) { try tx.create(record, type: "note") }
      try tx.set(field, of: record, to: value)
    }
  }

  /// Imports another device's log.
  func importLog(of other: Device) async throws {
    var lines: [ExportedLine] = []
    try other.store.read { tx in
      try tx.forEachExportedLine {
        lines.append($0)
        return true
      }
    }
    try await store.importLines(lines)
  }

  func replicator(
    _ remote: any RemoteLog, zones: ZoneSelection = .all,
    _ configure: (inout ReplicatorConfiguration) -> Void = { _ in }
  ) -> LogReplicator {
    var configuration = ReplicatorConfiguration()
    configure(&configuration)
    configuration.makeRandom = makeRandom
    return LogReplicator(store: store, remote: remote, zones: zones, configuration: configuration)
  }

  @discardableResult
  func sync(
    _ remote: any RemoteLog, _ steps: SyncSteps = .all, zones: ZoneSelection = .all
  ) async throws -> SyncReport {
    try await replicator(remote, zones: zones).syncOnce(steps)
  }

  /// Puts a snapshot of the end of the zone's log at a remote.
  @discardableResult
  func putSnapshot(at remote: any RemoteLog) async throws -> (RemoteSnapshot, SnapshotManifest) {
    let incarnation = try #require(try store.syncState().zones.first?.token).incarnation
    let manifest = try store.makeSnapshot(of: zone)
    let snapshot = RemoteSnapshot(of: zone, incarnation, at: manifest.offset, by: store.identity.replica)
    for index in manifest.parts.indices {
      try await remote.putSnapshotPart(store.snapshotPart(index, of: manifest), at: index, of: snapshot)
    }
    try await remote.finishSnapshot(manifest, of: snapshot)
    return (snapshot, manifest)
  }

  /// Lets the zone's log begin with a snapshot of its end.
  func trim(_ remote: any RemoteLog) async throws {
    let (snapshot, manifest) = try await putSnapshot(at: remote)
    #expect(try await remote.trim(to: snapshot, manifest) == manifest.offset)
  }

  /// One round that makes no snapshot.
  @discardableResult
  func syncWithoutSnapshot(_ remote: any RemoteLog) async throws -> ZoneReport {
    let report = try await replicator(remote) { $0.policy.snapshotBytesMin = 1 << 40 }.syncOnce()
    return try #require(report.zones.first { $0.zone == zone })
  }

  /// The digest of each zone, by name.
  func digests() throws -> [String: ContentHash] {
    try store.read { tx in
      var digests: [String: ContentHash] = [:]
      for zone in try tx.zones() { digests["\(zone)"] = try tx.digest(of: zone) }
      return digests
    }
  }

  /// The records of all zones, as text.
  func recordNames() throws -> Set<String> {
    try store.read { tx in
      var names: Set<String> = []
      for zone in try tx.zones() {
        for record in try tx.records(in: zone) { names.insert("\(record.id)") }
      }
      return names
    }
  }

  func pending() throws -> UInt64 { try store.syncState().zones.reduce(0) { $0 + $1.pending } }
}

/// Random bits that a seed determines.
func seededBits(_ seed: UInt64) -> @Sendable () -> UInt64 {
  let random = Shared(SeededRandom(seed: seed))
  return { random.next() }
}

private final class Shared: Sendable {
  private let random: Mutex<SeededRandom>
  init(_ random: SeededRandom) { self.random = Mutex(random) }
  func next() -> UInt64 { random.withLock { $0.next() } }
}

/// Two devices that have synced and have both written since: one has deleted a zone, and created another.
/// Seeds and clocks make it the same each time.
func makeContest(in parent: String, _ remote: any RemoteLog) async throws -> [Device] {
  let (lists, gone) = (ZoneID(name: "lists"), ZoneID(name: "gone"))
  let devices = try (1...2).map { try Device(in: parent, "d\($0)", seed: UInt64($0)) }
  for zone in [zone, lists, gone] { try await devices[0].set("title", of: "first", to: "made", in: zone) }
  try await settle(devices, remote)
  for (index, device) in devices.enumerated() {
    for zone in [zone, lists] {
      try await device.set("title", of: "first", to: .string("by \(index)"), in: zone)
      try await device.set("title", of: Name("own \(index)"), to: 1, in: zone)
    }
  }
  try await devices[1].sync(remote)
  try await devices[0].store.write { try $0.deleteZone(gone) }
  try await devices[0].set("title", of: "new", to: 1, in: ZoneID(name: "new"))
  return devices
}

/// Syncs devices in turn until nothing moves.
func settle(_ devices: [Device], _ remote: any RemoteLog, sourceLocation: SourceLocation = #_sourceLocation)
  async throws
{
  for _ in 0..<20 {
    var hasMoved = false
    for device in devices {
      let report = try await device.sync(remote)
      if report.hasMoved { hasMoved = true }
      // The report must show remaining work.
      if !report.hasMoved { #expect(report.isInSync, "\(report)", sourceLocation: sourceLocation) }
    }
    if !hasMoved { return }
  }
  Issue.record("no rest after 20 rounds", sourceLocation: sourceLocation)
}

/// Checks that the devices agree, that nothing is pending, and that the remote has every transaction once.
func expectAgreement(
  _ devices: [Device], _ remote: any RemoteLog, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let digests = try devices[0].digests()
  for device in devices {
    let found = try device.digests()
    #expect(found == digests, sourceLocation: sourceLocation)
    #expect(try device.pending() == 0, sourceLocation: sourceLocation)
    let report = try device.store.verify()
    #expect(report.isSound, "\(report)", sourceLocation: sourceLocation)
  }
  for zone in try devices[0].store.syncState().zones {
    guard let token = zone.token else { continue }
    let rejected = try devices[0].store.read { try $0.rejectedSegments(in: zone.zone) }
    try await expectEachOnce(
      .start(of: zone.zone, token.incarnation), remote, except: Set(rejected.map(\.offset)), sourceLocation)
  }
}

/// Checks that a zone's remote log has each sequence of each writer once, in order, except rejected ones.
private func expectEachOnce(
  _ start: ChangeToken, _ remote: any RemoteLog, except rejected: Set<UInt64>,
  _ sourceLocation: SourceLocation
) async throws {
  var token = start
  var last: [StoreIdentity: UInt64] = [:]
  while case .segments(let segments, _) = try await remote.segments(after: token, bytesMax: 1 << 20),
    !segments.isEmpty
  {
    for stored in segments {
      // A given-up entry has nothing to count.
      if FrameKind(of: stored.bytes.span.bytes) == .tombstone {
        (token.offset, token.hash) = (stored.offset, ContentHash(of: stored.bytes.span.bytes))
        continue
      }
      let header = try SegmentPacker.unpack(stored.bytes).header
      #expect(stored.offset == token.offset + 1, sourceLocation: sourceLocation)
      let lane = StoreIdentity(replica: header.replica, epoch: header.epoch)
      if !rejected.contains(stored.offset) {
        #expect(header.sequences.lowerBound == last[lane, default: 0] + 1, sourceLocation: sourceLocation)
        last[lane] = header.sequences.upperBound
      }
      token.offset = stored.offset
      token.chain = stored.chain
      token.hash = header.contentHash
    }
  }
}

extension WriteTransaction {
  /// Creates a new record for a word, and appends the word to the text and the list of a record that all
  /// devices share.
  mutating func append(_ text: String, to shared: RecordID) throws {
    try createZone(shared.zone)
    try attachZone(shared.zone)
    if try !contains(shared) { try create(shared, type: "note") }
    try create(RecordID(zone: shared.zone, name: Name(text)), type: "note")
    try add(1, to: "count", of: shared)
    let end = try self.text(of: "body", in: shared)?.unicodeScalars.count ?? 0
    try insertText(text, at: end, in: "body", of: shared)
    try insertElements([.string(text)], at: 0, in: "items", of: shared)
  }
}
