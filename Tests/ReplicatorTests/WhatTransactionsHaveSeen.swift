import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

/// A replica that has seen a transaction has also seen everything that this one had seen. Lists and texts
/// rely on that where they skip everything attached to an unseen unit. A segment that claims otherwise is
/// rejected.
@Suite("A transaction has seen everything that a seen transaction has seen")
struct WhatTransactionsHaveSeen {
  private static let document = RecordID(zone: zone, name: "document")

  /// A log in which peers write arbitrary segments.
  private struct Log {
    let remote: any RemoteLog
    let incarnation: IncarnationID
    var token: ChangeToken
    var chains: [LogChain] = []
    var makers: [SegmentMaker] = []

    init(_ remote: any RemoteLog, after device: Device) throws {
      self.remote = remote
      token = try #require(try device.store.syncState().zones.first?.token)
      incarnation = token.incarnation
      chains = Array(repeating: .start(of: incarnation), count: Int(token.offset - 1)) + [token.chain!]
      makers = [0x80, 0x11, 0x22, 0x33, 0x77].map {
        SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: $0))
      }
    }

    var last: UInt64 { UInt64(chains.count) }

    /// Inserts a text before everything that its writer has seen.
    mutating func insert(
      _ text: String, by writer: Int, base: UInt64? = nil, parent: (writer: Int, sequence: UInt64)? = nil
    ) async throws {
      let named = parent.map {
        TransactionID(replica: makers[$0.writer].replica, epoch: 0, sequence: $0.sequence)
      }
      let segment = try makers[writer].next(
        [.update(record: "document", type: "note", field: "body", .insertText(text, after: nil))],
        base: base.map { ($0, chains[Int($0) - 1]) }, parent: named)
      let outcome = try await remote.append(segment, after: last)
      guard case .appended(let place) = outcome else { throw Failure.notAppended }
      #expect(place.offset == last + 1)
      chains.append(place.chain!)
    }
  }

  private enum Failure: Error { case notAppended }

  /// The claim of the log's last segment.
  enum Lie: CaseIterable {
    /// It has seen nothing, although the previous one in its lane had.
    case none
    /// It has seen less than the previous one in its lane.
    case less
    /// It has seen less than its parent.
    case lessThanParent
    /// It has seen as much as the previous one.
    case asMuch
    /// It has seen as much as its parent.
    case asMuchAsParent

    var isLie: Bool { self != .asMuch && self != .asMuchAsParent }
  }

  @Test(
    "Less than the previous one, or than its parent: every device rejects it, and all agree",
    arguments: Lie.allCases)
  func goingBack(lie: Lie) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "d", seed: 1)
    try await device.set("title", of: "document", to: "made")
    try await settle([device], remote)
    var log = try Log(remote, after: device)
    try await log.insert("0", by: 0)
    let first = log.last
    try await log.insert("1", by: 1, base: first)
    try await log.insert("2", by: 2, base: first + 1)
    try await log.insert("3", by: 0, base: first + 2)
    try await log.insert("4", by: 3, base: first + 3)
    switch lie {
    case .none: try await log.insert("X", by: 0)
    case .less: try await log.insert("X", by: 0, base: first + 1)
    case .lessThanParent: try await log.insert("X", by: 4, parent: (0, 2))
    case .asMuch: try await log.insert("X", by: 0, base: first + 2)
    case .asMuchAsParent: try await log.insert("X", by: 4, base: first + 2, parent: (0, 2))
    }
    // It has an insertion at the start that none of them has seen.
    try await device.store.write { try $0.insertText("P", at: 0, in: "body", of: Self.document) }
    try await settle([device], remote)
    let fresh = try Device(in: scratch.path, "fresh", seed: 2)
    try await settle([device, fresh], remote)
    let text = try device.store.read { try $0.text(of: "body", in: Self.document) }
    #expect(text?.contains("X") == !lie.isLie)
    for device in [device, fresh] {
      #expect(try device.store.read { try $0.text(of: "body", in: Self.document) } == text)
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      #expect(rejected.map(\.reason) == (lie.isLie ? [.base] : []))
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
    }
    #expect(try device.digests() == fresh.digests())
    let audit = try await RemoteAudit(of: remote)
    #expect(audit.problems.isEmpty, "\(audit.problems)")
    #expect(audit.logs[0].consequences.count == (lie.isLie ? 1 : 0))
    for device in [device, fresh] { device.store.close() }
  }

  @Test(
    "A chain of lanes, each of which continues the previous one: beyond the limit every device rejects it")
  func chain() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "d", seed: 1)
    try await device.set("title", of: "document", to: "made")
    try await settle([device], remote)
    let token = try #require(try device.store.syncState().zones.first?.token)
    let replica = ReplicaID(rawValue: 0xBAD)
    let count = 2 * Limits.lineageMax
    for epoch in 0..<UInt32(count) {
      var maker = SegmentMaker(zone, token.incarnation, replica: replica, epoch: epoch)
      let parent = epoch == 0 ? nil : TransactionID(replica: replica, epoch: epoch - 1, sequence: 1)
      let operation = LogOperation.set(
        record: "document", type: "note", field: "title", value: .int(Int64(epoch)))
      _ = try await remote.append(try maker.next([operation], parent: parent), after: token.offset)
    }
    let fresh = try Device(in: scratch.path, "fresh", seed: 2)
    for device in [device, fresh] {
      try await device.sync(remote)
      let rejected = try device.store.read { try $0.rejectedSegments(in: zone) }
      // The first one continues nothing.
      #expect(rejected.count == count - Limits.lineageMax - 1)
      #expect(rejected.allSatisfy { $0.reason == .parent })
      #expect(try device.store.verify().isSound)
    }
    #expect(try device.digests() == fresh.digests())
    let audit = try await RemoteAudit(of: remote)
    #expect(audit.problems.isEmpty && audit.logs[0].consequences.count == count - Limits.lineageMax - 1)
    for device in [device, fresh] { device.store.close() }
  }

  @Test("A store whose lane is often closed, each time with sent and pending work, loses nothing")
  func renewedOften() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    try await devices[0].set("title", of: "document", to: "made")
    try await settle(devices, remote)
    let identity = try devices[0].store.syncState().identity
    let token = try #require(try devices[0].store.syncState().zones.first?.token)
    func type(_ text: String) async throws {
      try await devices[0].store.write { tx in
        let end = try tx.text(of: "body", in: Self.document)?.utf8.count ?? 0
        try tx.insertText(text, at: end, in: "body", of: Self.document)
      }
    }
    let rounds = Limits.lineageMax + 4
    for round in 0..<rounds {
      // The other's segment comes before: the sent work is not read yet, so no base covers it.
      try await devices[1].set("title", of: "other", to: .int(Int64(round)))
      try await devices[1].sync(remote)
      try await type("a")
      try await devices[0].sync(remote, .ship)
      try await type("b")
      var maker = SegmentMaker(
        zone, token.incarnation, replica: identity.replica, epoch: identity.epoch + UInt32(round))
      _ = try maker.next(transactions: 500, valueBytes: 1)
      _ = try await remote.append(try maker.next(), after: token.offset)
      let report = try await devices[0].sync(remote)
      #expect(report.isInSync && report.rejectedSegments == 1, "\(round): \(report)")
    }
    try await settle(devices, remote)
    let fresh = try Device(in: scratch.path, "fresh", seed: 9)
    try await settle(devices + [fresh], remote)
    let text = String(repeating: "ab", count: rounds)
    for device in devices + [fresh] {
      #expect(try device.store.read { try $0.text(of: "body", in: Self.document) } == text)
      #expect(try device.store.read { try $0.rejectedSegments(in: zone).count } == rounds)
      #expect(try device.store.verify().isSound)
      #expect(try device.digests() == fresh.digests())
    }
    for device in devices + [fresh] { device.store.close() }
  }
}
