import EventStore
import OperationFormat
import Testing

/// Thousands of replicas that set one field without having seen each other.
@Suite("Many heads in one cell")
struct ManyHeads {
  private let name = Array("record".utf8)
  private let state = StateNumber(rawValue: 1)
  private let field = NameNumber(rawValue: 1)
  private let type = NameNumber(rawValue: 2)

  /// The place of replica n's one transaction is n.
  private func makeStorage(_ replicas: Int) -> CountingFoldStorage {
    let identities = (1...replicas + 1).map { ReplicaID(rawValue: UInt128($0 &* 0x9e37_79b9 % 1_000_003)) }
    return CountingFoldStorage(
      MemoryFoldStorage(replicas: identities) { replica, _, _, _, _ in UInt64(replica.rawValue) })
  }

  private func set(
    _ fold: inout Fold<CountingFoldStorage>, replica: Int, base: Int, sequence: UInt64 = 1
  ) throws {
    fold.viewpoint = Viewpoint(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: UInt32(replica)), epoch: 1,
      sequence: sequence, base: base == 0 ? nil : (IncarnationNumber(rawValue: 1), UInt64(base)))
    fold.timestamp = Timestamp(milliseconds: UInt64(replica * 7919 % 1000), counter: 0)
    let value = try Value.int(Int64(replica)).encoded()
    try fold.change(
      .set, field, of: name.span.bytes, in: state, type: type, operand: value.span.bytes, index: 0)
  }

  @Test("10,000 that never saw anything: each costs a few rows, and one that saw all of them clears them")
  func thatSawNothing() throws {
    let count = 10_000
    let storage = makeStorage(count)
    var fold = Fold(storage: storage)
    for replica in 1...count { try set(&fold, replica: replica, base: 0) }
    #expect(storage.lookUps == 0)
    #expect(storage.elementsRead == 0)
    #expect(storage.elementCount == 2 * (count - 4))
    #expect(storage.elementsChanged < 5 * count)

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
    #expect(storage.elementsRead < 6 * count)
  }

  @Test("those that had seen something else cost as few")
  func thatSawSomethingElse() throws {
    let count = 300
    let storage = makeStorage(count + 1)
    var fold = Fold(storage: storage)
    // Offset 1 is of another cell: everyone has seen it, and nobody has seen the others.
    for replica in 2...count + 1 { try set(&fold, replica: replica, base: 1) }
    let heads = try fold.heads(of: CellPath(CellNumber(register: field)))
    #expect(heads.count == count)
    withKnownIssue("a transaction with a base reads every head that is kept apart: quadratic") {
      #expect(storage.elementsRead < 20 * count)
      #expect(storage.lookUps < 20 * count)
    }
  }
}
