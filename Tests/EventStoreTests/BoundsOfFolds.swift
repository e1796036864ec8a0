import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("The work of a commit that folds the log again")
struct BoundsOfFolds {
  let directory = TemporaryDirectory()

  /// Folds a whole remote log at once, and then the log again in commits of a few rows. The records must be
  /// the same.
  ///
  /// - Returns: how many rows each of these commits has read, and the commits that began with the last
  ///   transaction.
  private func rebuild(
    _ remote: TestRemote, steps: Int, at once: Int = 10
  ) async throws -> (all: [Int], last: [Int]) {
    let plain = try directory.store("plain")
    let bounded = try directory.store("bounded") { $0.foldBoundStepsMax = steps }
    for store in [plain, bounded] {
      try await store.makeAttachedZone()
      try await store.perform { store in
        store.fold.bound.rowsAtOnce = once
        var ingest = RemoteIngest(store)
        var report = IngestReport()
        for segment in remote.segments { try ingest.ingest(segment, &report) }
      }
    }
    var (touched, last): ([Int], [Int]) = ([], [])
    var isInLast = false
    _ = try await bounded.perform { try Rebuild($0).start() }
    var isDone = false
    while !isDone {
      try #require(touched.count < 20_000, "an operation begins again and again")
      let step = try await bounded.perform { store in
        let before = store.storage.touchedRows
        let step = try Rebuild(store).step()
        return (
          touched: store.storage.touchedRows - before, isDone: step.isDone,
          isInLast: step.position.rawValue + 1 == step.last.rawValue
        )
      }
      touched.append(step.touched)
      if isInLast { last.append(step.touched) }
      isDone = step.isDone
      isInLast = step.isInLast
    }
    while try await bounded.perform({ try Rebuild($0).discardStep() }) {}
    for store in [plain, bounded] {
      let report = try store.verify()
      #expect(report.problems == [])
    }
    #expect(try bounded.digest() == plain.digest())
    return (touched, last)
  }

  private func update(_ field: Name, _ change: FieldChange) -> LogOperation {
    .update(record: "r", type: "note", field: field, change)
  }

  // MARK: Heads

  @Test("reads none of very many heads that an operation has not seen")
  func unseenHeads() async throws {
    var remote = TestRemote()
    for replica in UInt128(10)..<310 {
      _ = try remote.append([transaction(replica, 1, [set("r", "f", .int(Int64(replica)))])])
    }
    _ = try remote.append([transaction(2, 1, (0..<500).map { set("r", "f", .int($0)) })])
    let touched = try await rebuild(remote, steps: 1000).all
    // A few for each operation, but not the 300 heads.
    #expect(touched.reduce(0, +) < 30_000, "\(touched)")
    #expect(touched.max()! < 4000, "\(touched)")
  }

  @Test(
    "removes few at a time of very many heads that an operation has seen, each once",
    arguments: [310, 200] as [UInt64])
  func seenHeads(base: UInt64) async throws {
    var remote = TestRemote()
    for replica in UInt128(10)..<320 {
      _ = try remote.append([
        transaction(
          replica, 1, [set("r", "f", .int(Int64(replica))), update("places", .put(key: "k", .int(1)))])
      ])
    }
    _ = try remote.append([
      transaction(2, 1, base: base, [update("places", .put(key: "k", .int(2))), create("r")])
    ])
    let touched = try await rebuild(remote, steps: 400)
    #expect(touched.all.max()! < 2500 && touched.last.count > 5, "\(touched)")
    #expect(touched.all.reduce(0, +) < 40_000, "\(touched)")
  }

  // MARK: Cells

  @Test("can end between the small fields of a record that is created again")
  func smallFields() async throws {
    var remote = TestRemote()
    var operations = [create("r")]
    for field in 0..<80 {
      operations += (0..<8).map { update(Name("f\(field)"), .insert(.int($0))) }
      operations.append(update(Name("l\(field)"), .insertElements([1, 2], after: nil)))
      operations.append(update(Name("t\(field)"), .insertText("some text", after: nil)))
    }
    _ = try remote.append([transaction(1, 1, operations)])
    _ = try remote.append([transaction(2, 1, base: 1, [create("r")])])
    let touched = try await rebuild(remote, steps: 1000, at: 250)
    #expect(touched.last.count > 10 && touched.last.max()! < 1500, "\(touched)")
  }

  @Test("can end between the elements of a field, each of which has many heads")
  func elementsOfManyHeads() async throws {
    var remote = TestRemote()
    for replica in UInt128(10)..<40 {
      let operations = (0..<30).map { update("places", .put(key: Name("k\($0)"), .int(Int64(replica)))) }
      _ = try remote.append([transaction(replica, 1, operations)])
    }
    _ = try remote.append([transaction(2, 1, base: 30, [create("r")])])
    let touched = try await rebuild(remote, steps: 400, at: 100)
    #expect(touched.last.count > 10 && touched.last.max()! < 1500, "\(touched)")
  }

  @Test(
    "can end between the blocks of a record with very many fields, and reads each once",
    arguments: [1, nil] as [UInt64?])
  func blocks(base: UInt64?) async throws {
    var remote = TestRemote()
    let fields = (0..<2000).map { update(Name("field\($0)"), .set(.int(Int64($0)))) }
    _ = try remote.append([transaction(1, 1, [create("r")] + fields)])
    _ = try remote.append([transaction(2, 1, base: base, [create("r")])])
    let touched = try await rebuild(remote, steps: 500, at: 125).last
    #expect(touched.count > (base == nil ? 2 : 25) && touched.max()! < 15, "\(touched)")
  }

  @Test("counts the references that are removed with a value")
  func references() throws {
    var fold = Fold(storage: MemoryFoldStorage(replicas: [ReplicaID(rawValue: 1)]) { _, _, _, _, _ in nil })
    let type = NameNumber(rawValue: 2)
    func change(_ kind: OperationKind, _ operand: (inout ByteWriter) throws -> Void, _ sequence: UInt64)
      throws
    {
      fold.context = CausalContext(
        zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: sequence,
        base: nil)
      fold.timestamp = Timestamp(milliseconds: sequence, counter: 0)
      var writer = ByteWriter()
      try operand(&writer)
      try fold.change(
        kind, NameNumber(rawValue: 1), of: Array("r".utf8).span.bytes, in: StateNumber(rawValue: 1),
        type: type,
        operand: writer.span, index: 0)
    }
    let targets = (0..<300).map {
      Value.reference(Reference(zone: noteZone, record: Name("t\($0)"), rule: .nullify))
    }
    try change(.put, { try FieldChange.put(key: "k", .array(targets)).encode(into: &$0) }, 1)
    fold.bound.stepsMax = 1000
    fold.bound.begin(.givesUp)
    #expect(throws: FoldBoundReached.self) {
      try change(.removeKey, { try FieldChange.removeKey("k").encode(into: &$0) }, 2)
    }
  }

  // MARK: Texts

  private func text(pieces: Int) throws -> TestRemote {
    var remote = TestRemote()
    // Each at the start, so that numbers descend in the document.
    let operations = (0..<pieces).map { _ in
      update("body", .insertText(String(repeating: "text ", count: 100), after: nil))
    }
    _ = try remote.append([transaction(1, 1, [create("r")] + operations)])
    return remote
  }

  @Test("can end between the leaves of a text that is removed")
  func seenText() async throws {
    var remote = try text(pieces: 200)
    _ = try remote.append([transaction(2, 1, base: 1, [create("r")])])
    let touched = try await rebuild(remote, steps: 400).last
    #expect(touched.count > 5 && touched.max()! < 1000, "\(touched)")
  }

  @Test("can end between the leaves with the units of one removal")
  func removedText() async throws {
    var remote = try text(pieces: 200)
    let all = UnitSpan(
      first: UnitReference(maker: UnitMaker(replica: ReplicaID(rawValue: 1), epoch: 0), number: 0),
      count: 1 << 20)
    _ = try remote.append([transaction(2, 1, base: 1, [update("body", .removeText([all]))])])
    let touched = try await rebuild(remote, steps: 400).last
    #expect(touched.count > 5 && touched.max()! < 1000, "\(touched)")
  }

  @Test("can end between the leaves of a text from which nothing is removed, and continues after them")
  func unseenText() async throws {
    var remote = try text(pieces: 200)
    _ = try remote.append([transaction(2, 1, (0..<12).map { _ in create("r") })])
    let touched = try await rebuild(remote, steps: 100).last
    #expect(touched.count > 20 && touched.max()! < 300, "\(touched)")
  }

  @Test("counts the units before an insertion that its writer has not seen")
  func unseenUnits() async throws {
    let (writers, insertions) = (100, 20)
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), update("body", .insertText("ab", after: nil))])])
    for number in 0..<insertions {
      let other = update("n", .set(.int(Int64(number))))
      _ = try remote.append([transaction(1, UInt64(number) + 2, [other])])
    }
    let behind = UnitReference(maker: UnitMaker(replica: ReplicaID(rawValue: 1), epoch: 0), number: 0)
    let insertion = update("body", .insertText("x", after: behind))
    for writer in 0..<writers {
      _ = try remote.append([transaction(UInt128(writer) + 2, 1, base: 1, [insertion])])
    }
    // Each has seen more than the previous one, and none of the writers.
    let last = (0..<insertions).map { number in
      transaction(UInt128(writers) + 2, UInt64(number) + 1, base: UInt64(number) + 1, [insertion])
    }
    _ = try remote.append(last)
    // Each insertion of the last writer passes all the others.
    let commits = try await rebuild(remote, steps: 400).all.count
    let counted = insertions * writers * FoldBound.stepsOfUnit / 400
    #expect(commits > counted, "\(commits)")
  }

  @Test(
    "hides the same units of a text in several commits as in one",
    arguments: WideTests.choose(0..<30, otherwise: 0..<10))
  func hiding(seed: UInt64) throws {
    var writers = UnitOrderWriters(3, nodeBytesMax: 64, seed: seed)
    for _ in 0..<120 { try writers.step() }
    let history = writers.history
    var random = SeededGenerator(seed: seed ^ 0xb0b)
    let order = history.order(&random)
    func folded() throws -> UnitOrder<MemoryFoldStorage> { try history.folded(order, nodeBytesMax: 64) }
    var (parts, whole, removed) = (try folded(), try folded(), try folded())
    let ends: [UInt64] = [random.chance(50) ? .max : 20, 0, random.chance(50) ? .max : 7]
    for (index, end) in ends.enumerated() {
      let inserter = Inserter(replica: ReplicaNumber(rawValue: UInt32(index + 1)), epoch: 0)
      try whole.setVisible(false, UnitRange(first: UnitID(inserter, 0), count: end))
      var next: UnitID? = UnitID(inserter, 0)
      while let first = next {
        var visits = 1 + random.below(3)
        next = try removed.setVisible(false, UnitRange(first: first, count: end - min(end, first.number))) {
          _ in
          visits -= 1
          return visits > 0
        }
        try #require(next.map { $0.number > first.number } ?? true)
      }
    }
    let leaves = UInt64(parts.root.lastNode)
    var (rest, visits): (UnitID?, UInt64) = (nil, 0)
    repeat {
      let last = visits + UInt64(1 + random.below(3))
      func numbers(of inserter: Inserter) -> Range<UInt64> { 0..<ends[Int(inserter.replica.rawValue) - 1] }
      rest = try parts.hide(from: rest, numbers) { _ in
        visits += 1
        return visits < last
      }
    } while rest != nil && visits <= leaves
    #expect(rest == nil && visits <= leaves)
    let expected = try whole.runs
    for sequence in [parts, removed] {
      let (runs, problems) = (try sequence.runs, try sequence.verify())
      #expect(runs == expected && problems == [])
    }
  }
}
