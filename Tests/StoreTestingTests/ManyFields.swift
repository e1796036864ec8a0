import Testing

@testable import EventStore
@testable import OperationFormat

/// Very many fields in one record.
@Suite("Many fields in one record")
struct ManyFields {
  private let name = Array("record".utf8)
  private let state = StateNumber(rawValue: 1)
  private let type = NameNumber(rawValue: 2)

  private func makeFold() -> Fold<CountingFoldStorage> {
    var fold = Fold(
      storage: CountingFoldStorage(
        MemoryFoldStorage(replicas: [ReplicaID(rawValue: 1)]) { _, _, _, _, _ in nil }))
    fold.timestamp = Timestamp(milliseconds: 1, counter: 0)
    begin(1, &fold)
    return fold
  }

  private func begin(_ sequence: UInt64, _ fold: inout Fold<CountingFoldStorage>) {
    fold.context = CausalContext(
      zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 1, sequence: sequence,
      base: nil)
  }

  private func change(
    _ kind: OperationKind, _ field: Int, _ value: Int, _ fold: inout Fold<CountingFoldStorage>
  ) throws {
    let operand = try Value.int(Int64(value)).encoded()
    try fold.change(
      kind, NameNumber(rawValue: UInt32(field + 3)), of: name.span.bytes, in: state, type: type,
      operand: operand.span.bytes, index: UInt32(value))
  }

  /// How many bytes of rows one transaction moves for each field that it changes.
  private func bytesPerField(_ kind: OperationKind, _ count: Int, scattered: Bool) throws -> Int {
    var fold = makeFold()
    let storage = fold.storage
    for index in 0..<count {
      // Each field once: the step and the count have no common divisor.
      try change(kind, scattered ? index * 7919 % count : index, index, &fold)
    }
    try fold.flush()
    return storage.bytesMoved / count
  }

  @Test(
    "a transaction that changes each once moves the same number of bytes for each, however many there are",
    arguments: [OperationKind.set, .add], [false, true])
  func inOneTransaction(kind: OperationKind, scattered: Bool) throws {
    let once = try bytesPerField(kind, 10_000, scattered: scattered)
    let twice = try bytesPerField(kind, 20_000, scattered: scattered)
    #expect(once < 6000)
    #expect(twice <= once + once / 4 + 10)
  }

  @Test("one more change moves a block and not the record, and everything can be read")
  func oneMore() throws {
    var moved: [Int] = []
    for count in [5000, 20_000] {
      var fold = makeFold()
      let storage = fold.storage
      for field in 0..<count { try change(.set, field, field, &fold) }
      try fold.flush()
      fold.reset()
      let before = storage.bytesMoved
      begin(2, &fold)
      try change(.set, count / 2, 7, &fold)
      try fold.flush()
      moved.append(storage.bytesMoved - before)
      for field in [0, 1, count / 2, count - 1] {
        let cell = CellNumber(register: NameNumber(rawValue: UInt32(field + 3)))
        let heads = try fold.heads(of: CellPath(cell))
        #expect(heads.map(\.payload) == [try Value.int(Int64(field == count / 2 ? 7 : field)).encoded()])
      }
    }
    #expect(moved.allSatisfy { $0 < 8000 })
  }

  @Test("a creation that has seen all of them clears them")
  func cleared() throws {
    var fold = makeFold()
    let storage = fold.storage
    for field in 0..<3000 { try change(.set, field, field, &fold) }
    try fold.flush()
    #expect(storage.elementCount > 10)
    begin(2, &fold)
    try fold.create(name.span.bytes, in: state, type: type, index: 0)
    try fold.flush()
    #expect(storage.elementCount == 0)
    #expect(try fold.heads(of: CellPath(CellNumber(register: NameNumber(rawValue: 5)))).isEmpty)
    try change(.set, 5, 1, &fold)
    try fold.flush()
    #expect(storage.elementCount == 1)
  }
}
