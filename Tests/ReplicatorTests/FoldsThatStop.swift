import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("Folds beside another process, and folds that stop at one segment")
struct FoldsThatStop {
  func runner(_ device: Device, _ remote: any RemoteLog) -> EffectRunner {
    EffectRunner(
      store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 30,
      makeRandom: device.makeRandom)
  }

  @Test("A page of several commits is folded to its end while another process folds the same page")
  func beside() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let writer = try Device(in: scratch.path, "d1", seed: 1)
    let large = Value.bytes([UInt8](repeating: 7, count: 1_000_000))
    for number in 0..<20 { try await writer.set("body", of: Name("n\(number % 2)"), to: large) }
    try await writer.sync(remote)
    let reader = try Device(in: scratch.path, "d2", seed: 2)
    try await reader.sync(remote, [])
    let token = try #require(try reader.store.syncState().zones[0].token)
    guard
      case .segments(let page, hasMore: false) = try await remote.segments(after: token, bytesMax: 1 << 30)
    else {
      Issue.record("the log has an end")
      return
    }
    try #require(page.count > 2)
    try await reader.sync(remote)
    let result = await runner(reader, remote).perform(.zone(zone, .fold(page, after: token)))
    guard case .zone(_, .folded(let outcome)) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(outcome.problem == nil && outcome.segments == page.count)
    #expect(outcome.token.offset == UInt64(page.count))
    writer.store.close()
    reader.store.close()
  }

  @Test("A segment of a newer version parks only its zone")
  func newer() async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let writer = try Device(in: scratch.path, "d1", seed: 1)
    let others = ZoneID(name: "others")
    for zone in [zone, others] { try await writer.set("title", of: "first", to: "made", in: zone) }
    try await writer.sync(remote)
    let token = try #require(try writer.store.syncState().zones.first { $0.zone == zone }?.token)
    let name = ObjectName.entry(of: token.incarnation, 1)
    let bytes = try #require(remote.objects.contents[name])
    var newer = bytes
    newer[4] = 3
    var checksum = ByteWriter()
    checksum.append(Array(newer[..<30]))
    checksum.append(littleEndian: crc32c(checksum.span))
    newer.replaceSubrange(..<34, with: checksum.bytes)
    remote.objects.replace(name, with: newer)
    let reader = try Device(in: scratch.path, "d2", seed: 2)
    let report = try await reader.sync(remote)
    guard case .parked(offset: 1, let failure)? = report.zones.first(where: { $0.zone == zone })?.status
    else {
      Issue.record("\(report)")
      return
    }
    #expect(failure.code == "newerSegment")
    #expect(report.zones.first { $0.zone == others }?.status == .inSync)
    let audit = try await RemoteAudit(of: remote)
    #expect(audit.problems.map(\.place) == ["\(name)"])
    remote.objects.replace(name, with: bytes)
    #expect(try await reader.sync(remote).isInSync)
    writer.store.close()
    reader.store.close()
  }

  @Test("A stored cut that does not describe its transactions is an error")
  func damagedCut() throws {
    var cut = try SegmentExamples.cut(try SegmentExamples.transactions(2))
    cut.isStored = true
    cut.header.contentHash = .zero
    #expect(throws: FormatError.self) { try SegmentPacker.pack(cut) }
    cut.header.unpackedBytes = .max
    let error = #expect(throws: FormatError.self) { try SegmentPacker.pack(cut) }
    #expect(error?.code == .damaged)
  }
}
