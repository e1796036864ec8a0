import EventStore
import StoreTesting
import Testing

@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Two stores of one identity, one copied from the other, which nobody notices")
struct CopiedStores {
  private let overlooked: @Sendable (inout StoreConfiguration) -> Void = { $0.noticesCopies = false }

  /// A device, its copy, and a third one: all have synced.
  private func world(_ remote: any RemoteLog, _ parent: String) async throws -> [Device] {
    let original = try Device(in: parent, "original", seed: 1, configure: overlooked)
    try await original.set("title", of: "first", to: "made")
    try await original.sync(remote)
    original.store.close()
    try FileManager.default.copyItem(atPath: original.directory, toPath: "\(parent)/copy.store")
    try original.reopen()
    let devices = [
      original, try Device(in: parent, "copy", seed: 1, configure: overlooked),
      try Device(in: parent, "other", seed: 3),
    ]
    try await settle(devices, remote)
    return devices
  }

  @Test(
    "Both write and send: the later one takes another epoch, and all have the writes of both",
    arguments: [1, 2, 3], [1, 2, 3])
  func bothShip(first: Int, second: Int) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let devices = try await world(place.remote, scratch.path)
    for index in 0..<first { try await devices[0].set("title", of: Name("original \(index)"), to: 1) }
    for index in 0..<second { try await devices[1].set("title", of: Name("copy \(index)"), to: 1) }
    let sent = try await devices[0].sync(place.remote)
    #expect(sent.isInSync && sent.sent == first)
    let report = try await devices[1].sync(place.remote)
    #expect(report.isInSync && report.sent == second && report.received == first, "\(report)")
    #expect(try devices[1].store.verify().isSound)
    try await devices[2].set("title", of: "other", to: 1)
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    for device in devices {
      #expect(try device.recordNames().count == 2 + first + second)
      #expect(try device.store.read { try $0.conflicts(in: zone) }.isEmpty)
      device.store.close()
    }
  }

  @Test(
    "One sends after an unreadable entry of the other, which is then put back: it takes another epoch",
    arguments: RemotePlace.Kind.allCases)
  func shipsBehindDamage(kind: RemotePlace.Kind) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: scratch.path)
    let devices = try await world(place.remote, scratch.path)
    try await devices[0].set("title", of: "original", to: 1)
    try await devices[0].sync(place.remote)
    let token = try #require(try devices[0].store.read { try $0.changeToken(of: zone) })
    let entry = ObjectName.entry(of: token.incarnation, token.offset)
    let bytes = try await place.get(entry)
    try await place.replace(entry, with: [UInt8](repeating: 0, count: 300))
    try await devices[1].set("title", of: "copy", to: 1)
    let parked = try await devices[1].sync(place.remote)
    #expect(!parked.isInSync && parked.sent == 1, "\(parked)")
    try await place.replace(entry, with: bytes)
    try await devices[1].set("title", of: "copy again", to: 1)
    try await settle(devices, place.remote)
    try await expectAgreement(devices, place.remote)
    for device in devices {
      let names = try device.recordNames()
      let expected = ["copy", "copy again", "first", "original"].map { RecordID(zone: zone, name: Name($0)) }
      #expect(names == Set(expected.map { "\($0)" }))
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
      device.store.close()
    }
  }

  /// The units of a lane are named by its epoch and a number: both change when they are issued again.
  @Test("Lists, texts and counters that both copies continue", arguments: [true, false])
  func merging(hasPendingBefore: Bool) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let original = try Device(in: scratch.path, "original", seed: 1, configure: overlooked)
    let record = RecordID(zone: zone, name: "first")
    func type(_ text: String, on device: Device) async throws {
      try await device.store.write { tx in
        if try !tx.contains(record) { try tx.create(record, type: "note") }
        try tx.insertText(text, at: 0, in: "body", of: record)
        try tx.insertElements([.string(text)], at: 0, in: "items", of: record)
        try tx.add(1, to: "count", of: record)
      }
      // Refers to units that the same lane inserted before and just now.
      try await device.store.write { tx in
        try tx.insertText("-", at: 1, in: "body", of: record)
        try tx.moveElement(from: 0, to: 0, in: "items", of: record)
        try tx.removeText(2..<4, from: "body", of: record)
      }
    }
    try await original.set("title", of: "first", to: "made")
    try await type("abcd", on: original)
    try await type("efgh", on: original)
    try await original.sync(remote)
    if hasPendingBefore { try await type("ijkl", on: original) }
    original.store.close()
    try FileManager.default.copyItem(atPath: original.directory, toPath: "\(scratch.path)/copy.store")
    try original.reopen()
    let devices = [
      original, try Device(in: scratch.path, "copy", seed: 1, configure: overlooked),
      try Device(in: scratch.path, "other", seed: 3),
    ]
    for (index, device) in devices.prefix(2).enumerated() {
      try await type("one\(index)", on: device)
      try await type("two\(index)", on: device)
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices {
      let calls = hasPendingBefore ? 7 : 6
      let read = try device.store.read { tx in
        (
          try tx.counter("count", of: record)?.value, try tx.text(of: "body", in: record),
          try tx.list("items", of: record)
        )
      }
      #expect(read.0 == .int(Int64(calls)))
      #expect(read.1?.unicodeScalars.count == 3 * calls)
      #expect(read.2?.count == calls)
      #expect(try device.store.verify().isSound)
      let digest = try device.digests()
      _ = try await device.store.rebuild()
      #expect(try device.digests() == digest)
      device.store.close()
    }
  }

  @Test("Only one writes: the other one folds what the first has sent")
  func oneWrites() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try await world(remote, scratch.path)
    for index in 0..<3 { try await devices[0].set("title", of: Name("original \(index)"), to: 1) }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    #expect(try devices[1].recordNames().count == 4)
    for device in devices { device.store.close() }
  }
}
