import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("The chain of a log")
struct ChainsOfLogs {
  let scratch = TemporaryDirectory()

  @Test(
    "an entry that was given up excuses a chain in an audit as it does for readers: above the floor alone")
  func givenUpBelowAFloor() throws {
    let incarnation = IncarnationID(rawValue: 5)
    let hash = ContentHash(of: [1].span.bytes)
    for floor in [0, 1] as [UInt64] {
      var log = AuditedLog(zone: zone, incarnation: incarnation)
      let tombstone = LogTombstone(incarnation: incarnation, offset: 1, milliseconds: 0, content: nil)
      let bytes = try tombstone.encode()
      _ = log.addLink(ContentHash(of: bytes.span.bytes), nil, floor: 0)
      log.tombstones.append(tombstone)
      let stated = LogChain(hash: hash)
      let continues = log.addLink(hash, stated, floor: floor)
      #expect(continues == (floor == 0))
      log.hashes = [nil, hash]
      #expect((log.chain(at: 2) == stated) == (floor == 0))
    }
  }

  /// Two devices that have each sent two segments of one zone.
  private func world(_ kind: RemotePlace.Kind) async throws -> (RemotePlace, [Device], ChangeToken) {
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    for number in 0..<4 {
      try await devices[number % 2].set("title", of: Name("\(number)"), to: .int(Int64(number)))
      try await settle(devices, place.remote)
    }
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    try #require(token.offset == 4)
    return (place, devices, token)
  }

  /// An entry's name, and its segment.
  private func entry(
    _ offset: UInt64, of token: ChangeToken, _ place: RemotePlace
  ) async throws -> (ObjectName, segment: [UInt8]) {
    let name = ObjectName.entry(of: token.incarnation, offset)
    let bytes = try #require(try await place.get(name))
    return (name, Array(bytes[try SegmentEnvelope.read(bytes.span.bytes).segment]))
  }

  /// Damages an entry of a log whose last offset is known, and gives it up.
  private func giveUp(
    _ offset: UInt64, of token: ChangeToken, last: UInt64, note: String = "", _ place: RemotePlace
  ) async throws {
    try await place.replace(.entry(of: token.incarnation, offset), with: [1, 2, 3])
    let log = try #require((place.remote as? any LogOfObjects)?.log)
    _ = try await log.amendments.quarantine(
      EntryPlace(log: EntryPlace.Log(zone, token.incarnation), offset: offset), last: last, note: note,
      milliseconds: 1_700_000_000_000)
  }

  private func failure(_ report: SyncReport) -> SyncFailure? {
    guard case .failed(let failure)? = report.zones.first(where: { $0.zone == zone })?.status else {
      return nil
    }
    return failure
  }

  @Test(
    "Two copies of a remote that went different ways: who comes to the other one sends what that lacks",
    arguments: RemotePlace.Kind.allCases)
  func forked(kind: RemotePlace.Kind) async throws {
    let (place, devices, _) = try await world(kind)
    let copy = try await place.copy()
    try await devices[0].set("title", of: "here", to: 1)
    try await devices[0].sync(place.remote)
    try await place.restore(copy)
    try await devices[1].set("title", of: "there", to: 1)
    try await devices[1].sync(place.remote)
    // The same offset, and another log.
    try await devices[0].set("title", of: "later", to: 1)
    let parted = try await devices[0].sync(place.remote)
    #expect(parted.isInSync && parted.zones[0].partedAt == 5 && parted.sent == 2, "\(parted)")
    let names = try devices[0].recordNames()
    try await place.restore(copy)
    // Rolled back: nothing is at the offset, and what was there comes back.
    let report = try await devices[0].sync(place.remote)
    #expect(report.isInSync && report.zones[0].putBack == 3, "\(report)")
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    #expect(try devices[1].recordNames() == names)
    for device in devices { device.store.close() }
  }

  @Test(
    "A log in which an entry was replaced, and all chains after it made to fit, is found by its readers",
    arguments: RemotePlace.Kind.allCases)
  func rewritten(kind: RemotePlace.Kind) async throws {
    let (place, devices, token) = try await world(kind)
    var maker = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0xBAD))
    var chain = LogChain.start(of: token.incarnation)
    for offset in 1...4 as ClosedRange<UInt64> {
      let (name, right) = try await entry(offset, of: token, place)
      let segment = offset == 2 ? try maker.next().bytes : right
      let statement = try SegmentFrame.readHeader(segment.span.bytes).statement.hash
      chain = LogChain(statement, at: offset, after: chain)
      let again = SegmentEnvelope.encode(
        offset: offset, receivedMilliseconds: nil, chain: chain, segment: segment.span.bytes)
      try await place.replace(name, with: again)
    }
    let names = try devices[0].recordNames()
    // The last entry is the same one. Only the log before it is another.
    for device in devices {
      let report = try await device.sync(place.remote)
      #expect(report.zones[0].partedAt == 2, "\(report)")
    }
    // What the rewritten log does not take of theirs, they have sent again.
    try await settle(devices, place.remote)
    let new = try Device(in: scratch.path, "d3", seed: 3)
    try await new.sync(place.remote)
    for device in devices + [new] {
      #expect(try device.digests() == new.digests())
      #expect(try device.recordNames().isSuperset(of: names))
      device.store.close()
    }
  }

  @Test(
    "What does not continue the log is left out by everybody, and its writer sends it again",
    arguments: RemotePlace.Kind.allCases)
  func replaced(kind: RemotePlace.Kind) async throws {
    let (place, devices, token) = try await world(kind)
    var maker = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0xBAD))
    let foreign = try maker.next().bytes
    try await place.replace(
      .entry(of: token.incarnation, 2),
      with: SegmentEnvelope.encode(
        offset: 2, receivedMilliseconds: nil, chain: nil, segment: foreign.span.bytes))
    let newcomers = try (3...4).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await settle(newcomers, place.remote)
    for device in newcomers {
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected.map(\.offset) == [3, 4] && rejected.allSatisfy { $0.reason == .chain })
    }
    let audit = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    #expect(audit.problems.isEmpty && audit.logs[0].consequences.count == 2)
    for device in devices { try await device.store.beginRereading(zone, from: 1) }
    try await settle(devices + newcomers, place.remote)
    let digests = try newcomers[0].digests()
    for device in devices + newcomers {
      #expect(try device.digests() == digests)
      #expect(try device.recordNames().count >= 4)
      device.store.close()
    }
  }

  @Test(
    "A log of an earlier program is read and continued, and its chain is known from its start",
    arguments: RemotePlace.Kind.allCases)
  func firstVersion(kind: RemotePlace.Kind) async throws {
    let (place, devices, token) = try await world(kind)
    var previous: [ReplicaID: ContentHash] = [:]
    var hashes: [ContentHash] = []
    var chain = LogChain.start(of: token.incarnation)
    for offset in 1...4 as ClosedRange<UInt64> {
      let (name, right) = try await entry(offset, of: token, place)
      let unpacked = try SegmentPacker.unpack(right)
      let replica = unpacked.header.replica
      let header = try SegmentHeader.describing(
        unpacked.transactions, incarnation: token.incarnation, version: 1,
        baseProof: { [hashes] in hashes[Int($0) - 1] }, previousHash: previous[replica] ?? .zero)
      let packed = try SegmentPacker.pack(
        SegmentCut(header: header, isStored: false, transactions: unpacked.transactions))
      (previous[replica], chain) = (
        header.contentHash, LogChain(header.statement.hash, at: offset, after: chain)
      )
      hashes.append(header.contentHash)
      let first = SegmentEnvelope.encode(
        offset: offset, receivedMilliseconds: nil, chain: nil, segment: packed.bytes.span.bytes)
      try await place.replace(name, with: first)
    }
    let readers = try (3...4).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await readers[0].sync(place.remote)
    #expect(try readers[0].store.syncState().zones[0].token?.chain == chain)
    try await readers[0].set("title", of: "0", to: 7)
    try await settle(readers, place.remote)
    let last = try #require(try await place.get(.entry(of: token.incarnation, 5)))
    let (envelope, segment) = try SegmentEnvelope.read(last.span.bytes)
    let bytes = Array(last[segment])
    let header = try SegmentFrame.readHeader(bytes.span.bytes)
    #expect(header.version == 2 && header.base == 4 && header.baseProof == chain.hash)
    #expect(envelope.chain == LogChain(header.statement.hash, at: 5, after: chain))
    try await expectAgreement(readers, place.remote)
    let audit = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    #expect(audit.problems.isEmpty && audit.logs[0].consequences.isEmpty)
    for device in devices + readers { device.store.close() }
  }

  /// An entry that was given up, and up to where the writer that appends next has read.
  struct GivenUp {
    var offset: UInt64
    var read: UInt64
  }

  @Test(
    "What is appended after an entry that was given up continues the log, wherever its writer has read to",
    arguments: RemotePlace.Kind.allCases,
    [GivenUp(offset: 2, read: 1), GivenUp(offset: 2, read: 2), GivenUp(offset: 4, read: 3)])
  func afterTombstone(kind: RemotePlace.Kind, entry: GivenUp) async throws {
    let (place, devices, token) = try await world(kind)
    // The note is longer than what an append reads of an entry.
    try await giveUp(
      entry.offset, of: token, last: 4, note: String(repeating: "n", count: Limits.noteBytesMax), place)
    let start = ChangeToken.start(of: zone, token.incarnation)
    guard case .segments(let page, _) = try await place.remote.segments(after: start, bytesMax: .max) else {
      Issue.record("the log is closed")
      return
    }
    // What a reader computes.
    var chains = [LogChain.start(of: token.incarnation)]
    for stored in page {
      let bytes = stored.bytes
      let isTombstone = FrameKind(of: bytes.span.bytes) == .tombstone
      let statement =
        try isTombstone
        ? ContentHash(ofBytes: bytes) : SegmentFrame.readHeader(bytes.span.bytes).statement.hash
      var link = ChainLink(statement, at: stored.offset, stated: stored.chain, after: chains.last)
      if stored.offset == entry.offset + 1 { link.adopt(stored.chain) }
      chains.append(try #require(link.chain))
    }
    var known = start
    (known.offset, known.chain) = (entry.read, chains[Int(entry.read)])
    var maker = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0xA))
    let segment = try maker.next()
    guard case .appended(let last) = try await place.remote.append(segment, after: known) else {
      Issue.record("not appended")
      return
    }
    #expect(last.offset == 5)
    #expect(last.chain == LogChain(segment.header.statement.hash, at: 5, after: chains[4]))
    let reader = try Device(in: scratch.path, "d3", seed: 3)
    try await reader.sync(place.remote)
    let rejected = try reader.store.read { try $0.rejectedSegments(in: zone) }
    #expect(rejected.allSatisfy { $0.reason != .chain && $0.offset != 5 })
    for device in devices + [reader] { device.store.close() }
  }

  @Test(
    "The last entry, damaged only behind its header and given up: who had read it reads the log again",
    arguments: RemotePlace.Kind.allCases, [true, false])
  func givenUpLast(kind: RemotePlace.Kind, isPassedBefore: Bool) async throws {
    let (place, devices, token) = try await world(kind)
    let log = try #require((place.remote as? any LogOfObjects)?.log)
    let name = ObjectName.entry(of: token.incarnation, 4)
    var bytes = try #require(try await place.get(name))
    bytes[bytes.count - 1] ^= 1
    try await place.replace(name, with: bytes)
    let entry = EntryPlace(log: EntryPlace.Log(zone, token.incarnation), offset: 4)
    let writer = try Device(in: scratch.path, "d3", seed: 3)
    if isPassedBefore {
      // Its header shows the chain, so what is sent behind it continues that.
      try await writer.sync(place.remote)
      try await writer.set("title", of: "4", to: 4)
      try await writer.sync(place.remote)
      #expect(try await stated(5, of: token, place) != nil)
    }
    _ = try await log.amendments.quarantine(
      entry, last: isPassedBefore ? 5 : 4, note: "", milliseconds: 1_700_000_000_000)
    try await writer.sync(place.remote)
    try await writer.set("title", of: "5", to: 5)
    try await writer.sync(place.remote)
    // One that has read the entry appends after that too.
    try await devices[1].set("title", of: "6", to: 6)
    for _ in 0..<4 {
      for device in devices + [writer] { try await device.sync(place.remote) }
    }
    for device in devices + [writer] {
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected.isEmpty, "\(rejected)")
    }
    try await expectAgreement(devices + [writer], place.remote)
    for device in devices + [writer] { device.store.close() }
  }

  /// What the remote states as the chain at an offset.
  private func stated(_ offset: UInt64, of token: ChangeToken, _ place: RemotePlace) async throws -> LogChain?
  {
    let bytes = try #require(try await place.get(.entry(of: token.incarnation, offset)))
    return try SegmentEnvelope.readHeader(bytes.span.bytes).chain
  }

  /// A log whose last entry, at offset 5, states no chain, because its writer could not read the one before,
  /// which two others have read.
  private func worldWithoutChain(_ kind: RemotePlace.Kind) async throws -> (
    RemotePlace, [Device], ChangeToken
  ) {
    let (place, devices, token) = try await world(kind)
    let name = ObjectName.entry(of: token.incarnation, 4)
    let right = try #require(try await place.get(name))
    try await place.replace(name, with: [1, 2, 3])
    let third = try Device(in: scratch.path, "d3", seed: 3)
    try await third.sync(place.remote)
    try await third.set("title", of: "5", to: 5)
    try await third.sync(place.remote)
    #expect(try await stated(5, of: token, place) == nil)
    try await place.replace(name, with: right)
    return (place, devices + [third], token)
  }

  @Test(
    "An entry whose writer could not read the one before states no chain: it follows for who can read both",
    arguments: RemotePlace.Kind.allCases)
  func withoutChain(kind: RemotePlace.Kind) async throws {
    let (place, devices, token) = try await worldWithoutChain(kind)
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    let tokens = try devices.map { try $0.store.syncState().zones[0].token }
    #expect(tokens.allSatisfy { $0?.offset == 5 && $0?.chain != nil } && Set(tokens).count == 1)
    // It is put back as it was.
    let name = ObjectName.entry(of: token.incarnation, 5)
    let right = try await place.get(name)
    try await place.replace(name, with: [1, 2, 3])
    let audit = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    var repair = RemoteRepair(try #require(place.remote as? any LogOfObjects), from: devices[0].store)
    try await repair.repairLogs(audit)
    #expect(try await place.get(.amendment(of: token.incarnation, 5)) == right)
    try await devices[1].set("title", of: "6", to: 6)
    try await settle(devices, place.remote)
    #expect(try await stated(6, of: token, place) == devices[0].store.syncState().zones[0].token?.chain)
    let sound = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    #expect(sound.problems.isEmpty && sound.logs[0].consequences.isEmpty)
    for device in devices { device.store.close() }
  }

  @Test(
    "An entry before one without a chain that is given up: who had read it reads the log again",
    arguments: RemotePlace.Kind.allCases, [true, false])
  func givenUpBeforeOneWithoutChain(kind: RemotePlace.Kind, isReaderFirst: Bool) async throws {
    let (place, devices, token) = try await worldWithoutChain(kind)
    try await settle(Array(devices.prefix(2)), place.remote)
    try await giveUp(4, of: token, last: 5, place)
    let later = try Device(in: scratch.path, "d4", seed: 4)
    try await later.sync(place.remote)
    let writers = isReaderFirst ? [devices[0], later] : [later, devices[0]]
    for (number, writer) in writers.enumerated() {
      try await writer.set("title", of: Name("\(number + 6)"), to: 6)
      try await writer.sync(place.remote)
    }
    let newcomer = try Device(in: scratch.path, "d5", seed: 5)
    let all = devices + [later, newcomer]
    for _ in 0..<4 {
      for device in all { try await device.sync(place.remote) }
    }
    for device in all {
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected.isEmpty, "\(rejected)")
    }
    try await expectAgreement(all, place.remote)
    for device in all { device.store.close() }
  }

  @Test(
    "A round that ends between a rejection and the question what was given up leaves it to the next one",
    arguments: [true, false])
  func givenUpAndNotAsked(isMoreWritten: Bool) async throws {
    let (place, devices, token) = try await worldWithoutChain(.memory)
    try await settle(Array(devices.prefix(2)), place.remote)
    try await place.replace(.entry(of: token.incarnation, 4), with: [1, 2, 3])
    try await devices[2].set("title", of: "6", to: 6)
    try await devices[2].sync(place.remote)
    #expect(try await stated(6, of: token, place) == nil)
    try await giveUp(4, of: token, last: 6, place)
    let later = try Device(in: scratch.path, "d4", seed: 4)
    try await later.sync(place.remote)
    try await later.set("title", of: "7", to: 7)
    try await later.sync(place.remote)
    for device in devices.prefix(2) {
      await #expect(throws: SyncFailure.self) {
        try await device.sync(MuteRemote(remote: place.remote), .fetch)
      }
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected.map(\.offset) == [7])
    }
    if isMoreWritten {
      try await later.set("title", of: "8", to: 8)
      try await later.sync(place.remote)
    }
    let all = devices + [later]
    for _ in 0..<4 {
      for device in all { try await device.sync(place.remote) }
    }
    try await expectAgreement(all, place.remote)
    for device in all { device.store.close() }
  }

  @Test("A rejected segment tells of its base what was given up, also right behind another rejected one")
  func givenUpBeforeABase() async throws {
    let (place, devices, token) = try await worldWithoutChain(.memory)
    let readers = Array(devices.prefix(2))
    try await settle(readers, place.remote)
    try await readers[0].set("title", of: "6", to: 6)
    try await settle(readers, place.remote)
    #expect(try await stated(6, of: token, place) != nil)
    try await giveUp(4, of: token, last: 6, place)
    let later = try Device(in: scratch.path, "d4", seed: 4)
    try await later.sync(place.remote)
    let chain = try #require(try later.store.place(at: 5, of: zone, token.incarnation)?.chain)
    // One whose envelope states another chain, as a hostile writer may put it.
    var hostile = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0xBAD))
    let hostileBytes = try hostile.next().bytes
    try await place.replace(
      .entry(of: token.incarnation, 7),
      with: SegmentEnvelope.encode(
        offset: 7, receivedMilliseconds: nil,
        chain: LogChain(hash: ContentHash(of: chain.hash.bytes.span.bytes)),
        segment: hostileBytes.span.bytes))
    // And one of a writer that has read the log up to 5 without what was given up.
    try await later.sync(place.remote)
    var writer = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0x600D))
    let last = try #require(try later.store.place(at: 7, of: zone, token.incarnation))
    _ = try await place.remote.append(writer.next(base: (5, chain)), after: last)
    try await readers[1].sync(place.remote)
    let newcomer = try Device(in: scratch.path, "d5", seed: 5)
    try await newcomer.sync(place.remote)
    #expect(try readers[1].digests() == newcomer.digests())
    let rejected = try readers[1].store.read { try $0.rejectedSegments(in: zone) }
    #expect(rejected.map(\.offset) == [7], "\(rejected)")
    for device in devices + [later, newcomer] { device.store.close() }
  }

  @Test(
    "A sealed segment parks its zone, with the reason; what is pending is sent nevertheless",
    arguments: [true, false])
  func sealed(isSigned: Bool) async throws {
    let (place, devices, token) = try await world(.memory)
    var maker = SegmentMaker(zone, token.incarnation, replica: ReplicaID(rawValue: 0x5EA1))
    var header = try maker.next().header
    (header.isSealed, header.keyID) = (true, 1)
    (header.operationCount, header.unpackedBytes, header.packedBytes, header.codec) = (0, 0, 100, .none)
    header.timestamps = Timestamp(rawValue: 0)...Timestamp(rawValue: 0)
    header.device = isSigned ? DeviceID(rawValue: 7) : nil
    let body = [UInt8](repeating: 3, count: 100)
    let bytes = try SegmentFrame.encode(
      header, packedBody: body.span.bytes, signatures: isSigned ? [UInt8](repeating: 1, count: 64) : [])
    let outcome = try await place.remote.append(PackedSegment(header: header, bytes: bytes), after: token)
    guard case .appended(let sealed) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    try await devices[0].set("title", of: "later", to: 1)
    let report = try await devices[0].sync(place.remote)
    guard case .parked(offset: 5, let failure)? = report.zones.first?.status else {
      Issue.record("\(report)")
      return
    }
    #expect(failure.code == (isSigned ? "keyUnknown" : "signatureMissing") && sealed.offset == 5)
    #expect(report.sent == 1 && devices[0].pendingCount == 0)
    // Nothing is dropped: the entry is there, and what follows it waits.
    let again = try await devices[1].sync(place.remote)
    #expect(again.zones.first?.received == 0)
    for device in devices { device.store.close() }
  }
}

extension Device {
  fileprivate var pendingCount: UInt64? { try? pending() }
}

/// Answers everything but the question what is at one place of a log.
private struct MuteRemote: ForwardingRemote {
  let remote: any RemoteLog

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    guard bytesMax > 1 else { throw RemoteError(.unreachable, "no answer", hint: "wait") }
    return try await remote.segments(after: token, bytesMax: bytesMax)
  }
}
