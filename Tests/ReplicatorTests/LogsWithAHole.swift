import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

@Suite("A log that lacks one of many segments")
struct LogsWithAHole {
  let other = ZoneID(name: "other")

  /// Lets three devices write and send in a random order, with or without fetching before.
  private func write(_ devices: [Device], _ remote: any RemoteLog, _ random: inout SeededRandom) async throws
  {
    for number in 0..<14 {
      let device = devices[random.next(below: 3)]
      if random.chance(60) { try await device.sync(remote, .fetch) }
      try await device.set("title", of: Name("\(random.next(below: 6))"), to: .int(Int64(number)))
      try await device.sync(remote, .ship)
    }
  }

  /// The objects of a log without the segment at an offset; later ones move up.
  private func without(_ hole: UInt64, _ log: [[UInt8]], _ incarnation: IncarnationID) -> [ObjectName:
    [UInt8]]
  {
    var objects: [ObjectName: [UInt8]] = [:]
    for (index, bytes) in (log[..<Int(hole - 1)] + log[Int(hole)...]).enumerated() {
      let offset = UInt64(index + 1)
      let segment = Array(bytes[SegmentEnvelope.headerBytesMax...])
      objects[.entry(of: incarnation, offset)] = SegmentEnvelope.encode(
        offset: offset, receivedMilliseconds: nil, chain: nil, segment: segment.span.bytes)
    }
    return objects
  }

  @Test(
    "a reader rejects what follows it or has seen it, the other zone continues, the restored log is read again",
    .serialized, arguments: WideTests.choose(0..<24, otherwise: 0..<6))
  func rejects(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(seed.isMultiple(of: 2) ? .memory : .folder, in: scratch.path)
    let devices = try (0..<4).map { try Device(in: scratch.path, "d\($0)", seed: seed * 10 + UInt64($0)) }
    let reader = devices[3]
    for zone in [zone, other] { try await devices[0].set("title", of: "first", to: 1, in: zone) }
    try await settle(devices, place.remote)
    try await write(devices, place.remote, &random)
    try await reader.sync(place.remote)
    let token = try #require(try reader.store.syncState().zones.first?.token)
    try await write(devices, place.remote, &random)
    // The original log, and the writers of the segments that the reader does not have.
    let right = try await place.copy()
    var log: [[UInt8]] = []
    while let bytes = right[.entry(of: token.incarnation, UInt64(log.count + 1))] { log.append(bytes) }
    let headers = try log.map {
      try SegmentPacker.unpack(Array($0[SegmentEnvelope.headerBytesMax...])).header
    }
    // A later segment notices a missing one if it is of the same writer, or of one who had it.
    let holes = (token.offset + 1..<UInt64(log.count)).filter { offset in
      let (left, next) = (headers[Int(offset) - 1], headers[Int(offset)])
      return next.replica == left.replica || next.base >= offset
    }
    let hole = try #require(holes.isEmpty ? nil : holes[random.next(below: holes.count)], "seed \(seed)")
    let isOfLog: (ObjectName) -> Bool = { $0.incarnation == token.incarnation }
    try await place.restore(without(hole, log, token.incarnation), where: isOfLog)
    for number in 0..<3 {
      try await reader.set("title", of: Name("mine \(number)"), to: 1, in: other)
      try await devices[0].set("title", of: Name("theirs \(number)"), to: 1, in: other)
      try await devices[0].sync(place.remote, zones: .only([other]))
      let report = try await reader.sync(place.remote)
      #expect(report.zones[1].status == .inSync && report.zones[1].sent == 1 && report.zones[1].received == 1)
      #expect(report.zones[0].status == .inSync, "seed \(seed), hole \(hole): \(report)")
      #expect((report.zones[0].rejectedSegments > 0) == (number == 0), "seed \(seed)")
    }
    let rejected = try reader.store.read { try $0.rejectedSegments(in: zone) }
    #expect(rejected.first?.offset == hole, "seed \(seed)")
    #expect(try reader.store.verify().isSound)
    // Every reader of that log has the same state.
    let fresh = try Device(in: scratch.path, "fresh", seed: seed * 10 + 9)
    try await fresh.sync(place.remote)
    #expect(try fresh.digests() == reader.digests(), "seed \(seed)")
    fresh.store.close()
    // With the segment back, it is another log than the one that was read: it is read again from there.
    try await place.restore(right, where: isOfLog)
    let report = try await reader.sync(place.remote)
    #expect(report.isInSync && report.zones[0].partedAt == hole, "seed \(seed): \(report)")
    let whole = try Device(in: scratch.path, "whole", seed: seed * 10 + 8)
    try await whole.sync(place.remote)
    #expect(try whole.digests() == reader.digests(), "seed \(seed)")
    whole.store.close()
    for device in devices { device.store.close() }
  }
}
