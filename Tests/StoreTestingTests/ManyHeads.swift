import StoreTesting
import Testing

@testable import EventStore
@testable import OperationFormat

/// Thousands of replicas that set one field concurrently.
@Suite("Many heads in one cell")
struct ManyHeads {
  private let name = Array("record".utf8)
  private let state = StateNumber(rawValue: 1)
  private let field = NameNumber(rawValue: 1)
  private let type = NameNumber(rawValue: 2)

  /// The place of replica n's only transaction is n.
  private func makeStorage(_ replicas: Int) -> CountingFoldStorage {
    let identities = (1...replicas + 1).map { ReplicaID(rawValue: UInt128($0 &* 0x9e37_79b9 % 1_000_003)) }
    return CountingFoldStorage(
      MemoryFoldStorage(
        replicas: identities,
        runs: { PlacedRun(replica: ReplicaNumber(rawValue: UInt32($0)), epoch: 1, sequences: 1...1) },
        placed: { UInt64(replicas) }, places: { replica, _, _, _, _ in UInt64(replica.rawValue) }))
  }

  private func set(
    _ fold: inout Fold<CountingFoldStorage>, replica: Int, base: Int, sequence: UInt64 = 1, index: UInt32 = 0,
    milliseconds: UInt64? = nil
  ) throws {
    fold.context = CausalContext(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: UInt32(replica)), epoch: 1,
      sequence: sequence, base: base == 0 ? nil : (IncarnationNumber(rawValue: 1), UInt64(base)))
    fold.timestamp = Timestamp(milliseconds: milliseconds ?? UInt64(replica * 7919 % 1000), counter: 0)
    let value = try Value.int(Int64(replica)).encoded()
    try fold.change(
      .set, field, of: name.span.bytes, in: state, type: type, operand: value.span.bytes,
      index: index)
  }

  @Test("10,000 that have seen nothing: each costs a few rows, and one that has seen all of them clears them")
  func thatSawNothing() throws {
    let count = 10_000
    let storage = makeStorage(count)
    var fold = Fold(storage: storage)
    for replica in 1...count { try set(&fold, replica: replica, base: 0) }
    #expect(storage.lookUps == 0)
    #expect(storage.elementsRead <= 3 * count)
    // One row for each and one in the index, for two cells.
    #expect(storage.elementCount == 4 * (count - 4) + 2)
    #expect(storage.elementsChanged < 9 * count)

    let heads = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(heads.count == count)
    let timestamps = heads.map(\.head.timestamp)
    #expect(timestamps == timestamps.sorted(by: >))

    try set(&fold, replica: count + 1, base: count)
    try fold.flush()
    let left = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(left.count == 1)
    #expect(storage.elementCount == 0)
    #expect(storage.lookUps <= 4 * count)
    #expect(storage.elementsRead <= 7 * count)
  }

  @Test("that lose to a large value do not read it")
  func thatLoseToALargeValue() throws {
    let storage = makeStorage(2)
    var fold = Fold(storage: storage)
    fold.context = CausalContext(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 1, sequence: 1, base: nil)
    fold.timestamp = Timestamp(milliseconds: 1_000_000, counter: 0)
    // Its bytes could be those of references.
    let value = try Value.bytes([UInt8](repeating: 10, count: 100_000)).encoded()
    try fold.change(
      .set, field, of: name.span.bytes, in: state, type: type, operand: value.span.bytes, index: 0)
    try fold.flush()
    let before = storage.bytesMoved
    for index in 0..<1000 { try set(&fold, replica: 2, base: 0, index: UInt32(index), milliseconds: 5) }
    try fold.flush()
    #expect(storage.bytesMoved - before < 1_000_000)
    let heads = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(heads.map(\.payload.count) == [value.count, 2])
  }

  /// The work of replicas that set one field, each with a base.
  private func work(
    _ count: Int, base: (_ replica: Int) -> Int
  ) throws -> (perSet: Int, storage: CountingFoldStorage) {
    let storage = makeStorage(count + 1)
    var fold = Fold(storage: storage)
    for replica in 2...count + 1 { try set(&fold, replica: replica, base: base(replica)) }
    try fold.flush()
    let work = storage.lookUps + storage.elementsRead + storage.elementsChanged
    return (work / count, storage)
  }

  @Test(
    "100,000 that have seen something else cost as little, and one more sets the field 2,000 times",
    .enabled(if: WideTests.areWanted, "`make test-wide` runs it"))
  func thatSawSomethingElse() throws {
    let count = 100_000
    // Offset 1 belongs to another cell: all have seen it, and none has seen the others.
    let (perSet, storage) = try work(count) { _ in 1 }
    #expect(perSet < 40)
    var fold = Fold(storage: storage)
    let before = storage.lookUps + storage.elementsRead + storage.elementsChanged
    for index in 0..<2000 {
      try set(&fold, replica: count + 2, base: 1, index: UInt32(index))
    }
    #expect(storage.lookUps + storage.elementsRead + storage.elementsChanged - before < 60 * 2000)
    let heads = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(heads.count == count + 1)
    #expect(heads.last { $0.head.id.replica.rawValue == count + 2 }?.head.id.index == 1999)
  }

  @Test("those that have seen all but the last few before them", arguments: [1, 30, 1000])
  func thatSawOthers(unseen: Int) throws {
    let (once, small) = try work(2000) { max(0, $0 - 1 - unseen) }
    let (twice, _) = try work(4000) { max(0, $0 - 1 - unseen) }
    #expect(twice <= once + once / 2 + 2)
    #expect(once < 60)
    var fold = Fold(storage: small)
    _ = try fold.load(name.span.bytes, in: state)
    let heads = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(Set(heads.map { Int($0.head.id.replica.rawValue) }) == Set(2001 - unseen...2001))
  }

  @Test("those that have each seen only the greatest: the next greatest moves into the row")
  func thatSawTheGreatest() throws {
    let count = 2000
    let storage = makeStorage(2 * count + 1)
    var fold = Fold(storage: storage)
    // The times of the first go from high to low; those that see them one by one have a lower time than all.
    for replica in 1...count {
      try set(&fold, replica: replica, base: 0, milliseconds: UInt64(1_000_000 - replica))
    }
    let before = storage.lookUps + storage.elementsRead + storage.elementsChanged
    for replica in count + 1...2 * count {
      try set(&fold, replica: replica, base: replica - count, milliseconds: UInt64(replica))
    }
    #expect(storage.lookUps + storage.elementsRead + storage.elementsChanged - before < 60 * count)
    let heads = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(heads.map { Int($0.head.id.replica.rawValue) } == Array((count + 1...2 * count).reversed()))
  }
}
