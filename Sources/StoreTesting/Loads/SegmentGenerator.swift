import EventStore
package import OperationFormat
import Replicator

/// Makes legal segments of one zone by a few writers, of every kind of work that a fold does, from a seed.
///
/// Each refers only to what exists: units of lists and texts that their writer has seen, a base in the log,
/// the hash of the segment before it. All are valid, but many are larger or stranger than those of an app.
package struct SegmentGenerator {
  /// The kind of operations in a segment.
  enum Kind: String, CaseIterable, Sendable {
    case registers = "registers of many records"
    case wideRecord = "registers of one wide record"
    case counters = "counters"
    case wideCounters = "counters of one wide record"
    case sets = "elements of sets"
    case maps = "keys of maps"
    case textForward = "text typed forward"
    case textFront = "text put at the front"
    case textAnywhere = "text put anywhere"
    case textRemovals = "removals from a text"
    case listForward = "list appended to"
    case listFront = "list with elements put at the front"
    case listAnywhere = "list with elements put, moved, replaced anywhere"
    case listRemovals = "removals from a list"
    case contributions = "contributions"
    case lives = "records deleted and made again"
    case largeValues = "values of up to 1 MiB"
    case mixed = "all of these"
  }

  /// A segment, and the kind of its operations.
  struct Segment: Sendable {
    var kind: Kind
    var operationCount: Int
    /// The steps that folding it takes: see `FoldWork`.
    var steps: Int
    var packed: PackedSegment
    /// As a store folds it.
    var remote: RemoteSegment
  }

  private struct Writer {
    var replica: ReplicaID
    var sequence: UInt64 = 0
    var base: UInt64 = 0
    var previousHash = ContentHash.zero
    /// How many units it has made, by field.
    var units: [Name: UInt64] = [:]
  }

  let zone: ZoneID
  let incarnation: IncarnationID
  private let operationsMax: Int
  private var random: SeededRandom
  private var writers: [Writer]
  /// The record that was deleted or made last.
  private var lives = 0
  /// The log's chain at each offset so far, from 1.
  private var chains: [LogChain] = []

  /// Creates a generator.
  ///
  /// - Parameters:
  ///   - operationsMax: the most operations in one segment.
  ///   - writerCount: how many replicas write, in turns that are drawn.
  package init(
    _ zone: ZoneID, _ incarnation: IncarnationID, seed: UInt64,
    operationsMax: Int = Limits.segmentOperationsMax, writerCount: Int = 4
  ) {
    self.zone = zone
    self.incarnation = incarnation
    self.operationsMax = min(max(operationsMax, 1), Limits.segmentOperationsMax)
    random = SeededRandom(seed: seed)
    writers = (1...writerCount).map { Writer(replica: ReplicaID(rawValue: UInt128($0))) }
  }

  /// Makes the segment of the next offset. One of twenty has as many operations as it may.
  mutating func next() throws -> Segment {
    let index = random.next(below: writers.count)
    let kind = Kind.allCases[random.next(below: Kind.allCases.count)]
    // Half of the writers have read further. The others write concurrently with what they have not read.
    if random.next(below: 2) == 0 {
      let (last, known) = (UInt64(chains.count), writers[index].base)
      writers[index].base = known + UInt64(random.next(below: Int(last - known) + 1))
    }
    var count = 1 << random.next(below: 11)
    count =
      random.next(below: 20) == 0 ? operationsMax : min(operationsMax, count + random.next(below: count))
    if kind == .largeValues { count = min(count, 7) }
    var operations: [LogOperation] = []
    // One operation is less than an eighth of what a segment may be.
    var steps = 0
    while operations.count < count, steps < Limits.foldStepsMax / 8 * 7 {
      let operation = operation(of: kind, writer: index)
      operations.append(operation)
      switch operation {
      case .update(_, _, _, let change): steps += try FoldWork.steps(of: change)
      case .create, .delete, .moveAway, .moveHere, .compact, .unknown: steps += 2
      }
    }
    return try segment(kind, operations, writer: index)
  }

  /// Cuts operations into transactions and packs them.
  private mutating func segment(
    _ kind: Kind, _ operations: [LogOperation], writer index: Int
  ) throws -> Segment {
    let step = [1, 100, operations.count][random.next(below: 3)]
    var writer = writers[index]
    var transactions: [[UInt8]] = []
    for start in stride(from: 0, to: operations.count, by: step) {
      writer.sequence += 1
      transactions.append(
        try LogTransaction(
          replica: writer.replica, epoch: 0, sequence: writer.sequence, zone: zone,
          base: writer.base > 0 ? Base(incarnation: incarnation, offset: writer.base) : nil,
          timestamp: Timestamp(rawValue: (1_700_000_000_000 + UInt64(chains.count)) << 16 | UInt64(start)),
          operations: Array(operations[start..<min(start + step, operations.count)])
        ).encoded())
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation, baseProof: { [chains] in chains[Int($0) - 1].hash },
      previousHash: writer.previousHash)
    let packed = try SegmentPacker.pack(
      SegmentCut(header: header, isStored: false, transactions: transactions))
    writer.previousHash = header.contentHash
    writers[index] = writer
    chains.append(
      LogChain(
        header.statement.hash, at: UInt64(chains.count) + 1, after: chains.last ?? .start(of: incarnation)))
    return Segment(
      kind: kind, operationCount: operations.count, steps: try SegmentPacker.unpack(packed.bytes).steps,
      packed: packed,
      remote: RemoteSegment(
        zone: zone, incarnation: incarnation, offset: UInt64(chains.count), hash: header.contentHash,
        receivedMilliseconds: nil, base: header.base, baseProof: header.baseProof,
        previousHash: header.previousHash, transactions: transactions, statement: header.statement.hash))
  }

  // MARK: Operations

  private mutating func operation(of kind: Kind, writer: Int) -> LogOperation {
    let few = Name("few \(random.next(below: 4))")
    func update(_ record: Name, _ field: Name, _ change: FieldChange) -> LogOperation {
      .update(record: record, type: "type", field: field, change)
    }
    switch kind {
    case .registers:
      let record = Name("record \(random.next(below: 10_000))")
      return update(record, "title", .set(.int(Int64(random.next(below: 1000)))))
    case .wideRecord:
      return update("wide", Name("field \(random.next(below: 65_536))"), .set(.int(1)))
    case .counters: return update(few, "likes", .add(.int(Int64(random.next(below: 9)) - 4)))
    case .wideCounters: return update("wide", Name("counter \(random.next(below: 65_536))"), .add(.int(1)))
    case .sets:
      let element = Value.int(Int64(random.next(below: 1000)))
      return update(few, "tags", random.next(below: 3) > 0 ? .insert(element) : .remove(element))
    case .maps:
      let key = Name("key \(random.next(below: 1000))")
      return update(few, "map", random.next(below: 3) > 0 ? .put(key: key, .int(1)) : .removeKey(key))
    case .textForward, .textFront, .textAnywhere, .textRemovals:
      return update("document", "body", sequenceChange(of: kind, isText: true, writer))
    case .listForward, .listFront, .listAnywhere, .listRemovals:
      return update("document", "items", sequenceChange(of: kind, isText: false, writer))
    case .contributions: return update(few, "votes", .contribute(.int(Int64(random.next(below: 100)))))
    case .lives:
      // No record twice in a segment: making one again is much work.
      lives = (lives + 1) % 70_000
      let record = Name("record \(lives)")
      return random.next(below: 2) == 0 ? .delete(record: record) : .create(record: record, type: "type")
    case .largeValues:
      // As large as a value may be. Packed, it is about half as large.
      let bytes = (0..<64).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let count = Limits.inlineValueBytesMax / 64 - 1
      return update(few, "photo", .set(.bytes((0..<count).flatMap { _ in bytes })))
    case .mixed:
      let kinds = Kind.allCases.filter { $0 != .mixed && $0 != .largeValues }
      return operation(of: kinds[random.next(below: kinds.count)], writer: writer)
    }
  }

  /// A change of the document's text or list. It names only units of its own writer, which that writer has
  /// seen.
  private mutating func sequenceChange(of kind: Kind, isText: Bool, _ writer: Int) -> FieldChange {
    let field: Name = isText ? "body" : "items"
    let made = writers[writer].units[field] ?? 0
    func unit(_ number: UInt64) -> UnitReference { UnitReference(number: number) }
    if made > 0, kind == .textRemovals || kind == .listRemovals {
      let spans = (0...random.next(below: 8)).map { _ in
        let first = UInt64(random.next(below: Int(made)))
        let count = UInt64(random.next(below: min(Int(made - first), 256)) + 1)
        return UnitSpan(first: unit(first), count: count)
      }
      return isText ? .removeText(spans) : .removeElements(spans)
    }
    let any = made > 0 ? unit(UInt64(random.next(below: Int(max(made, 1))))) : nil
    if kind == .listAnywhere, let any, random.next(below: 4) == 0 {
      if random.next(below: 2) == 0 { return .replaceElement(any, .int(2)) }
      // A move makes a unit.
      writers[writer].units[field] = made + 1
      return .moveElement(any, after: nil)
    }
    let after: UnitReference? =
      switch kind {
      case .textForward, .listForward: made > 0 ? unit(made - 1) : nil
      case .textAnywhere, .listAnywhere: any
      default: nil
      }
    let count = random.next(below: 8) == 0 ? 1 + random.next(below: 64) : 1
    writers[writer].units[field] = made + UInt64(count)
    return isText
      ? .insertText(String(repeating: "x", count: count), after: after)
      : .insertElements(Array(repeating: .int(1), count: count), after: after)
  }
}
