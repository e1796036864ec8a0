import EventStore
import OperationFormat
import StoreTesting
import Testing

/// Very many replicas that each insert a little at one place of a sequence, concurrently.
@Suite("Many writers at one place")
struct ManyWritersAtOnePlace {
  private let name = Array("record".utf8)
  private let state = StateNumber(rawValue: 1)
  private let field = NameNumber(rawValue: 1)
  private let type = NameNumber(rawValue: 2)

  /// The places of transactions, by replica and sequence.
  private func makeStorage(
    _ replicas: Int, places: @escaping (_ replica: Int, _ sequence: UInt64) -> UInt64?
  ) -> MemoryFoldStorage {
    let identities = (1...replicas).map { ReplicaID(rawValue: UInt128($0 &* 0x9e37_79b9 % 1_000_003)) }
    return MemoryFoldStorage(
      replicas: identities, runs: { _ in nil }, placed: { 1_000_000 },
      places: { replica, _, sequence, _, _ in places(Int(replica.rawValue), sequence) })
  }

  private func change<Storage: FoldStorage>(
    _ fold: inout Fold<Storage>, _ change: FieldChange, by replica: Int, _ sequence: UInt64, base: UInt64
  ) throws {
    fold.context = CausalContext(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: UInt32(replica)), epoch: 0,
      sequence: sequence, base: base == 0 ? nil : (IncarnationNumber(rawValue: 1), base))
    fold.timestamp = Timestamp(milliseconds: UInt64(replica * 7919 % 1000), counter: 0)
    var operand = ByteWriter()
    try change.encode(into: &operand)
    try fold.change(
      change.kind, field, of: name.span.bytes, in: state, type: type, operand: operand.span, index: 0)
  }

  private func unit(_ replica: ReplicaID, _ number: UInt64) -> UnitReference {
    UnitReference(maker: UnitMaker(replica: replica, epoch: 0), number: number)
  }

  @Test(
    "each insertion or move takes the same number of look-ups, however many came before",
    arguments: [0, 1, 2])
  func cost(_ kind: Int) throws {
    let count = 2000
    let memory = makeStorage(count + 1) { replica, _ in UInt64(replica) }
    let first = memory.replicaID(ReplicaNumber(rawValue: 1))
    let storage = CountingFoldStorage(memory)
    var fold = Fold(storage: storage)
    let isText = kind == 0
    try change(
      &fold, isText ? .insertText("abc", after: nil) : .insertElements([1, 2, 3], after: nil), by: 1, 1,
      base: 0)
    let place = unit(first, 0)
    for replica in 2...count + 1 {
      let edit: FieldChange =
        switch kind {
        case 0: .insertText("x", after: place)
        case 1: .insertElements([4], after: place)
        default: .moveElement(unit(first, 2), after: place)
        }
      try change(&fold, edit, by: replica, 1, base: 1)
    }
    try fold.flush()
    #expect(storage.lookUps < 30 * count, "\(storage.lookUps)")
  }

  @Test(
    "are the same without the fold's caches between operations",
    arguments: WideTests.choose(0..<40, otherwise: 0..<10))
  func areAsWithout(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let replicas = 12
    let isText = seed % 2 == 0
    var places: [[UInt64]] = Array(repeating: [], count: replicas + 1)
    /// By offset, from 1: the writer, and the number of the unit.
    var units: [(replica: Int, number: UInt64)] = []
    var edits: [(change: FieldChange, replica: Int, sequence: UInt64, base: UInt64)] = []
    var bases = Array(repeating: 0 as UInt64, count: replicas + 1)
    let identities = makeStorage(replicas) { _, _ in nil }
    for offset in 1...80 as ClosedRange<UInt64> {
      let replica = 1 + random.next(below: replicas)
      // Few bases, so that many are equal.
      let base = max(bases[replica], (offset - 1) / 20 * 20)
      bases[replica] = base
      let seen = units.enumerated().filter { $0.offset < Int(base) || $0.element.replica == replica }
      let left = random.chance(30) ? nil : seen.randomElement(using: &random)?.element
      let origin = left.map {
        unit(identities.replicaID(ReplicaNumber(rawValue: UInt32($0.replica))), $0.number)
      }
      edits.append(
        (
          isText ? .insertText("x", after: origin) : .insertElements([1], after: origin), replica,
          UInt64(places[replica].count + 1), base
        ))
      units.append((replica, UInt64(places[replica].count)))
      places[replica].append(offset)
    }
    let offset = { [places] (replica: Int, sequence: UInt64) -> UInt64? in places[replica][Int(sequence) - 1]
    }
    let (kept, fresh) = (makeStorage(replicas, places: offset), makeStorage(replicas, places: offset))
    var fold = Fold(storage: kept)
    for edit in edits {
      try change(&fold, edit.change, by: edit.replica, edit.sequence, base: edit.base)
      try fold.flush()
      var other = Fold(storage: fresh)
      try change(&other, edit.change, by: edit.replica, edit.sequence, base: edit.base)
      try other.flush()
    }
    let (a, b) = (kept.contents.runs, fresh.contents.runs)
    #expect(!a.isEmpty && a.map(\.key) == b.map(\.key) && a.map(\.row) == b.map(\.row))
  }
}
