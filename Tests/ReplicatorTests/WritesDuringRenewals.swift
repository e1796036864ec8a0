import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Writes between the commit that issues work again and the end of the following fold")
struct WritesDuringRenewals {
  private let shared = RecordID(zone: zone, name: "shared")

  /// How this period ends.
  private enum End: CaseIterable {
    case finished
    /// The process ends in this period, and the store is opened again.
    case crashed
    /// Its log is sent first.
    case shipped
  }

  /// The visible parts of the record.
  private struct View: Equatable {
    var texts: [String?]
    var lists: [[Value]?]
    var count: Value?
    var title: Value?
    var tags: Set<Value>?
    var conflicts: Int
  }

  private func view(_ device: Device) throws -> View {
    try device.store.read { tx in
      View(
        texts: try ["body", "second", "third", "kept"].map { try tx.text(of: $0, in: shared) },
        lists: try ["items", "others"].map { try tx.list($0, of: shared) },
        count: try tx.counter("count", of: shared)?.value, title: try tx.value(of: "title", in: shared),
        tags: try tx.elements(of: "tags", in: shared), conflicts: try tx.conflicts(in: zone).count)
    }
  }

  /// Changes of all kinds, which refer to earlier insertions.
  private func write(_ device: Device, _ number: Int, fields: [Name] = ["body"]) async throws {
    try await device.store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      if try !tx.contains(shared) { try tx.create(shared, type: "note") }
      try tx.set("title", of: shared, to: .int(Int64(number)))
      try tx.add(.int(1), to: "count", of: shared)
      try tx.insert(.int(Int64(number)), into: "tags", of: shared)
      if number > 0 { try tx.remove(.int(Int64(number - 1)), from: "tags", of: shared) }
      for field in fields {
        let end = try tx.text(of: field, in: shared)?.unicodeScalars.count ?? 0
        try tx.insertText("<\(number)>", at: end, in: field, of: shared)
        try tx.insertText("-", at: 0, in: field, of: shared)
      }
      try tx.insertElements(
        [.int(Int64(number)), .string("\(number)")], at: min(number, 1), in: "items", of: shared)
    }
  }

  /// The writes of an app in this period: it replaces pending text and elements, and types.
  private func writeInWindow(_ device: Device) async throws {
    for number in 10..<13 {
      try await write(device, number, fields: ["body", "second", "third"])
      try await device.store.write { tx in
        for letter in ["H", "E", "Y"] {
          let end = try tx.text(of: "body", in: shared)?.unicodeScalars.count ?? 0
          try tx.insertText(letter, at: end, in: "body", of: shared)
        }
        try tx.removeText(1..<6, from: "body", of: shared)
        try tx.removeText(0..<2, from: "kept", of: shared)
        try tx.insertText("K", at: 1, in: "kept", of: shared)
        try tx.replaceElement(at: 1, in: "items", of: shared, with: .string("new \(number)"))
        try tx.moveElement(from: 0, to: 3, in: "items", of: shared)
        try tx.removeElements(1..<3, from: "items", of: shared)
        try tx.insertElements([.int(1), .int(2)], at: 0, in: "others", of: shared)
        try tx.moveElement(from: 1, to: 0, in: "others", of: shared)
      }
    }
  }

  /// A device whose lane the log has closed, with two transactions that it has sent and three that it has
  /// not.
  private func contested(_ remote: any RemoteLog, _ parent: String) async throws -> Device {
    let device = try Device(in: parent, "device", seed: 1)
    try await write(device, 0, fields: ["body", "third", "kept"])
    try await write(device, 1, fields: ["body", "kept"])
    try await device.sync(remote)
    for number in 2..<5 { try await write(device, number, fields: ["body", "second"]) }
    let state = try device.store.syncState()
    let token = try #require(state.zones.first?.token)
    var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica)
    for _ in 1...8 { _ = try maker.next() }
    _ = try await remote.append(try maker.next(), after: token.offset)
    try await device.sync(remote, .fetch)
    return device
  }

  private func end(_ end: End, of device: Device, _ remote: any RemoteLog) async throws {
    switch end {
    case .finished: try await device.store.finishRenewal()
    case .crashed: try device.reopen()
    case .shipped: try await device.sync(remote, .ship)
    }
  }

  private func expectSame(_ devices: [Device], _ expected: View) throws {
    for device in devices {
      #expect(try view(device) == expected)
      #expect(try device.digests() == devices[0].digests() && device.pending() == 0)
      let report = try device.store.verify()
      #expect(report.isSound, "\(report)")
    }
    for device in devices { device.store.close() }
  }

  @Test("The store's own lane gets another epoch", arguments: End.allCases)
  private func renewed(end: End) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try await contested(remote, scratch.path)
    let before = try view(device)
    let count = try await device.store.renewLane(of: zone)
    #expect(count == 3)
    #expect(try view(device) == before)
    try await writeInWindow(device)
    let written = try view(device)
    #expect(written.count == .int(8) && written.conflicts == 0 && written.title == .int(12))
    try await self.end(end, of: device, remote)
    #expect(try view(device) == written)
    try await write(device, 13, fields: ["body", "second", "third"])
    let after = try view(device)
    let new = try Device(in: scratch.path, "new", seed: 9)
    try await settle([device, new], remote)
    try expectSame([device, new], after)
  }

  @Test("It gets one more in this period, after the first one has ended")
  func renewedTwice() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try await contested(remote, scratch.path)
    _ = try await device.store.renewLane(of: zone)
    try await writeInWindow(device)
    let written = try view(device)
    // Another device closes the new lane too.
    let state = try device.store.syncState()
    let token = try #require(state.zones.first?.token)
    var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica, epoch: 1)
    for _ in 1...8 { _ = try maker.next() }
    _ = try await remote.append(try maker.next(), after: token.offset)
    let again = try Device(in: scratch.path, "other", seed: 5)
    try await device.sync(remote, .fetch)
    #expect(try device.store.isOwnLaneClosed(of: zone))
    _ = try await device.store.renewLane(of: zone)
    try await writeInWindow(device)
    let last = try view(device)
    #expect(last != written)
    try await settle([device, again], remote)
    try expectSame([device, again], last)
  }

  @Test(
    "A lane of an earlier epoch is closed: the lane that continues it is issued again too",
    arguments: End.allCases)
  private func earlierEpoch(end: End) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let device = try Device(in: scratch.path, "device", seed: 1)
    try await write(device, 0, fields: ["body", "third", "kept"])
    try await device.sync(remote)
    try await write(device, 1, fields: ["body", "kept"])
    device.store.close()
    try FileManager.default.copyItem(atPath: device.directory, toPath: "\(scratch.path)/copy.store")
    try device.reopen()
    let copy = try Device(in: scratch.path, "copy", seed: 1, configure: { $0.noticesCopies = false })
    for (number, device) in [(2, device), (3, copy)] {
      try await write(device, number, fields: ["body", "second"])
    }
    // What the copy would send: it has the first pending transaction too, and another second one.
    let cut = try #require(try copy.store.nextCut(of: zone))
    let packed = try SegmentPacker.pack(cut)
    let segment = RemoteSegment(
      try SegmentPacker.unpack(packed.bytes),
      StoredSegment(offset: 2, receivedMilliseconds: nil, bytes: packed.bytes), of: zone)
    copy.store.close()
    var count = try await device.store.renewLane(of: zone, contestedBy: segment)
    #expect(count == 1)
    try await device.store.finishRenewal()
    let before = try view(device)
    let state = try device.store.syncState()
    let token = try #require(state.zones.first?.token)
    var maker = SegmentMaker(zone, token.incarnation, replica: state.identity.replica)
    for _ in 1...8 { _ = try maker.next() }
    _ = try await remote.append(try maker.next(), after: token.offset)
    try await device.sync(remote, .fetch)
    #expect(try device.store.isOwnLaneClosed(of: zone))
    count = try await device.store.renewLane(of: zone)
    #expect(count == 2)
    #expect(try view(device) == before)
    try await writeInWindow(device)
    let written = try view(device)
    #expect(written.count == .int(6) && written.conflicts == 0 && written.title == .int(12))
    try await self.end(end, of: device, remote)
    #expect(try view(device) == written)
    let new = try Device(in: scratch.path, "new", seed: 9)
    try await settle([device, new], remote)
    try expectSame([device, new], written)
  }

  @Test("Another store's lane is taken over", arguments: End.allCases)
  private func takenOver(end: End) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let old = try await contested(remote, scratch.path)
    let device = try Device(in: scratch.path, "importer", seed: 2)
    try await device.importLog(of: old)
    old.store.close()
    try await write(device, 6, fields: ["body", "second"])
    let count = try await device.store.settleClosedLanes(of: zone, .takeOver)
    #expect(count == 3)
    try await writeInWindow(device)
    let written = try view(device)
    #expect(written.count == .int(9) && written.conflicts == 0 && written.title == .int(12))
    try await self.end(end, of: device, remote)
    #expect(try view(device) == written)
    let new = try Device(in: scratch.path, "new", seed: 9)
    try await settle([device, new], remote)
    try expectSame([device, new], written)
  }
}
