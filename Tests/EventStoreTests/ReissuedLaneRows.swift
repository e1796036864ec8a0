import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("The rows of lanes that were issued again")
struct ReissuedLaneRows {
  let directory = TemporaryDirectory()
  private let zone = ZoneNumber(rawValue: 3)

  private func bytes(_ row: ReissuedLane) -> [UInt8] {
    var writer = ByteWriter()
    row.append(to: &writer)
    return writer.bytes
  }

  private func rows() -> [ReissuedLane] {
    let numbers: [UInt64] = [1, 127, 128, 1 << 40, .max / 2]
    return numbers.flatMap { number in
      [nil, (IncarnationNumber(rawValue: 7), number)].map { (branch: BaseNumbers?) in
        ReissuedLane(
          former: Lane(
            zone: zone, replica: ReplicaNumber(rawValue: 5), epoch: UInt32(truncatingIfNeeded: number)),
          first: number, count: number - 1, branch: branch, milliseconds: number == 1 ? .min : Int64(number))
      }
    }
  }

  @Test("A row says what was written; one that is cut is an error, and one that is changed never traps")
  func total() throws {
    for row in rows() {
      let bytes = bytes(row)
      let read = try ReissuedLane(bytes.span.bytes, in: zone)
      #expect(read.former == row.former && read.first == row.first && read.count == row.count)
      #expect(
        read.branch?.incarnation == row.branch?.incarnation && read.branch?.offset == row.branch?.offset)
      #expect(read.milliseconds == row.milliseconds)
      for count in 0..<bytes.count {
        #expect(throws: FormatError.self) { try ReissuedLane(Array(bytes[..<count]).span.bytes, in: zone) }
      }
      #expect(throws: FormatError.self) { try ReissuedLane((bytes + [0]).span.bytes, in: zone) }
      for bit in 0..<bytes.count * 8 {
        var changed = bytes
        changed[bit / 8] ^= 1 << (bit % 8)
        guard let read = try? ReissuedLane(changed.span.bytes, in: zone) else { continue }
        // No sum of what is read overflows.
        #expect(read.first > 0 && !read.first.addingReportingOverflow(read.count).overflow)
      }
    }
  }

  @Test("A flipped bit of a stored row is an error of the reader, and found by a verification")
  func damaged() async throws {
    let store = try directory.store()
    try await store.makeZone()
    let core = store.core
    try await core.perform { store in
      let replica = try store.storage.replicas.makeNumber(for: store.identity.replica)
      let number = try store.storage.zones.number(of: noteZone)
      let lanes = (0...1).map { Lane(zone: number, replica: replica, epoch: $0) }
      let incarnation = try store.storage.incarnations.makeNumber(for: testIncarnation)
      let row = ReissuedLane(
        former: lanes[0], first: 2, count: 1, branch: (incarnation, 9), milliseconds: 5)
      try store.storage.lanes.setReissue(row, of: lanes[1])
    }
    let identity = store.identity
    let fork = LaneFork(
      lane: identity, firstSequence: 2, place: Base(incarnation: testIncarnation, offset: 9),
      continuation: StoreIdentity(replica: identity.replica, epoch: 1), noticedMilliseconds: 5)
    #expect(try store.read { try $0.forks(in: noteZone) } == [fork])
    #expect(try store.verify().isSound)
    let row = try #require(
      try store.rows(\.replicas).first { $0.key[0] == LaneRowKind.reissuedLanes.rawValue })
    for bit in 0..<row.value.count * 8 {
      var value = row.value
      value[bit / 8] ^= 1 << (bit % 8)
      try store.overwrite(row.key, value, in: \.replicas)
      let error = #expect(throws: StoreError.self) { try store.read { try $0.forks(in: noteZone) } }
      #expect(error?.code == .damaged)
    }
    #expect(try !store.verify().isSound)
    store.close()
  }
}
