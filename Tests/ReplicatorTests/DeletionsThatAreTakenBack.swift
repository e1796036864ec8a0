import EventStore
import Foundation
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

@Suite("Deletions that a backup takes back")
struct DeletionsThatAreTakenBack {
  private let scratch = TemporaryDirectory()

  private static let records = (0..<6).map { RecordID(zone: zone, name: Name("r\($0)")) }

  /// What a user restores of a record.
  private struct Content: Equatable {
    var title: Value?
    var count: Value?
    var body: String?
    var items: [Value]?

    init?(of record: RecordID, _ tx: borrowing ReadTransaction) throws {
      guard try tx.contains(record) else { return nil }
      title = try tx.value(of: "title", in: record)
      count = try tx.counter("count", of: record)?.value
      (body, items) = (try tx.text(of: "body", in: record), try tx.list("items", of: record))
    }

    func create(_ record: RecordID, _ tx: inout WriteTransaction) throws {
      try tx.create(record, type: "note")
      if let title { try tx.set("title", of: record, to: title) }
      if let count { try tx.add(count, to: "count", of: record) }
      if let body { try tx.insertText(body, at: 0, in: "body", of: record) }
      if let items { try tx.insertElements(items, at: 0, in: "items", of: record) }
    }
  }

  private func shown(_ device: Device) throws -> [Content?] {
    try device.store.read { tx in try Self.records.map { try Content(of: $0, tx) } }
  }

  private func delete(_ numbers: [Int], on device: Device) async throws {
    try await device.store.write { tx in for number in numbers { try tx.delete(Self.records[number]) } }
  }

  @Test(
    "what the user restores wins over deletions that the remote has, that were made by a fast clock, and that come late",
    arguments: [ExistencePolicy.latest, .updateWins], [false, true])
  func restored(policy: ExistencePolicy, isCompacted: Bool) async throws {
    let scratch = TemporaryDirectory(in: scratch.path)
    let time = Mutex<Int64>(1_800_000_000_000)
    let right: @Sendable () -> Int64 = { time.withLock { $0 } }
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "device", seed: 1, clock: right)
    // An hour fast.
    let fast = try Device(in: scratch.path, "fast", seed: 2, clock: { right() + 3_600_000 })
    let away = try Device(in: scratch.path, "away", seed: 3, clock: right)
    let all = [device, fast, away]
    for device in all { try await device.store.setExistencePolicy(policy, of: "note") }
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      for (number, record) in Self.records.enumerated() {
        try tx.create(record, type: "note", fields: ["title": .int(Int64(number))])
        try tx.add(5, to: "count", of: record)
        try tx.insertText("text \(number)", at: 0, in: "body", of: record)
        try tx.insertElements([.int(1), .int(2)], at: 0, in: "items", of: record)
      }
    }
    try await settle(all, remote)
    let before = try shown(device)
    try device.store.backup(to: "\(scratch.path)/backup.store")

    time.withLock { $0 += 1000 }
    // Two were deleted here, two by the fast clock, and one by one who sends it only later.
    try await delete([0, 1], on: device)
    try await delete([2, 3], on: fast)
    try await delete([0, 2, 4], on: away)
    try await settle([device, fast], remote)
    if isCompacted {
      try await fast.store.compact(
        zone, keeping: CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0))
      try await settle([fast, device], remote)
    }
    #expect(try shown(device) == [nil, nil, nil, nil] + before[4...])

    // The backup is put back, and syncs: the deletions are there again.
    time.withLock { $0 += 1000 }
    device.store.close()
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(scratch.path)/backup.store/data.mdb"))
    try data.write(to: URL(fileURLWithPath: "\(device.directory)/data.mdb"))
    try device.reopen()
    #expect(try shown(device) == before)
    let backup = try device.store.read { try $0.lastPosition() }
    try await device.sync(remote)
    #expect(try shown(device) == [nil, nil, nil, nil] + before[4...])

    // The user restores what the backup had.
    let then = try await device.store.snapshot(at: backup)
    let lost = try then.read { tx in try Self.records.map { try Content(of: $0, tx) } }
    #expect(lost == before)
    try await device.store.write { tx in
      for (record, content) in zip(Self.records, lost) {
        if try !tx.contains(record) { try content?.create(record, &tx) }
      }
    }
    #expect(try shown(device) == before)
    try await device.sync(remote)
    // The older deletion comes only now. What was not restored goes: nobody took that deletion back. But if it comes
    // behind a floor, it is in conflict with what is there, and an update wins.
    let unrestored = isCompacted && policy == .updateWins ? before[4] : nil
    time.withLock { $0 += 1000 }
    try await settle([away, device, fast], remote)
    try await expectAgreement(all, remote)
    for device in all {
      #expect(try shown(device) == before[..<4] + [unrestored] + before[5...])
      device.store.close()
    }
  }
}
