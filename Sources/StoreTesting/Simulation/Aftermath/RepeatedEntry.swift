import EventStore
import OperationFormat
import Replicator

/// A peer sends entries of a log again: the last one, all with more behind them, a part of them, or other content. Some stores
/// have them, some know them by a snapshot alone, and they may be at or below a floor. All take it alike, or leave it out alike.
struct RepeatedEntry: AftermathEvent {
  private static let record: Name = "repeated"

  /// What comes again.
  private enum Repeat: CaseIterable { case same, more, part, other }

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (writer, zone) = pickWriter() else { return }
    begin(.entryRepeated)
    let writes = CountedWrites(self, Self.record, zone)
    try writes.write(writer)
    try agreement.check(zone, after: "a write")
    guard let token = try token(of: zone, writer), let chain = token.chain else { return }
    let replica = ReplicaID(rawValue: UInt128(choices.next(below: 1 << 30)) << 64 | 0xA6A)
    let counts = (0...choices.next(below: 2)).map { _ in 1 + choices.next(below: 3) }
    let peer = Peer(
      start: SegmentMaker(zone, token.incarnation, replica: replica), base: (token.offset, chain),
      counts: counts)
    for segment in try peer.entries() { try append(segment, token) }
    for device in agreement.devices(with: zone) where device.configuration.role == .writer {
      if choices.next(below: 2) == 0 { try writes.write(device) }
    }
    try agreement.check(zone, after: "writes")
    let isFolded = choices.next(below: 2) == 0
    if isFolded { try compact(zone, upTo: token.offset + UInt64(counts.count), on: writer) }
    for device in agreement.devices(with: zone) where choices.next(below: 2) == 0 {
      try retireHistory(of: zone, on: device)
    }
    let isTrimmed = try choices.next(below: 3) == 0 && letBegin(zone, withSnapshotOf: writer)
    let new = world.newDevice(like: writer)
    try SimulatedMachines(world).boot(new)
    try syncAlone(new)
    var again = choices.pick(Repeat.allCases)
    // A store that does not have an entry could not compare a part of it.
    if isTrimmed, again == .part || again == .other && counts[0] > 1 { again = .more }
    note("entries come again: \(again)")
    guard let end = try self.token(of: zone, writer) else { return }
    try append(peer.segment(again), end)
    let event = "entries came again (\(again))"
    try agreement.check(zone, after: event)
    try writes.write(writer)
    try agreement.check(zone, after: event)
    try writes.check(after: event)
    let isFork = again == .other && !isFolded
    try checkRejections(isFork ? [end.offset + 1: .fork] : [:], in: zone, after: end.offset)
    if isFolded { try compact(zone, upTo: end.offset + 1, on: writer) }
    try agreement.checkStores(of: zone)
  }

  private func append(_ segment: PackedSegment, _ token: ChangeToken) throws {
    let server = place.server
    _ = try executor.wait { try await server.append(segment, after: token) }
  }

  /// What the peer sends.
  private struct Peer {
    let start: SegmentMaker
    /// What it had seen.
    let base: (offset: UInt64, chain: LogChain)
    /// How many transactions each entry has.
    let counts: [Int]

    func entries() throws -> [PackedSegment] {
      var maker = start
      return try counts.map { try maker.next(transactions: $0, base: base) }
    }

    func segment(_ again: Repeat) throws -> PackedSegment {
      var maker = start
      switch again {
      case .same: return try entries()[counts.count - 1]
      case .more: return try maker.next(transactions: counts.reduce(2, +), base: base)
      case .part: return try maker.next(transactions: max(1, counts.reduce(-1, +)), base: base)
      case .other: return try maker.fork(1)
      }
    }
  }

  /// Lets a floor count.
  private func compact(_ zone: ZoneID, upTo floor: UInt64, on device: SimulatedDevice) throws {
    try name(floor, of: zone, on: device)
    try agreement.check(zone, after: "a floor")
  }

  /// All devices list what they left out, and why.
  private func checkRejections(
    _ expected: [UInt64: SegmentRejection], in zone: ZoneID, after end: UInt64
  ) throws {
    for device in agreement.devices(with: zone) {
      guard let store = device.store else { continue }
      var found: [UInt64: SegmentRejection] = [:]
      for segment in try store.read({ try $0.rejectedSegments(in: zone) }) where segment.offset > end {
        found[segment.offset] = segment.reason
      }
      guard found != expected else { continue }
      throw SimulationFailure(
        .nothingIsSilent,
        "d\(device.number) has rejected \(found.count) of \(expected.count) entries that came again in \(zone)"
      )
    }
  }
}
