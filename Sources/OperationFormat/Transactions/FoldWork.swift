/// The work of folding transactions, in steps. It is computed only from their bytes, so all replicas compute
/// the same number at any time.
///
/// | what | steps |
/// |---|---|
/// | an operation of any kind | 2, and 1 for each 512 bytes of its payload |
/// | each reference in its values | 2 |
/// | each asset in its values | 4 |
/// | an operation on a set, a map, a counter or contributions | 2 more |
/// | an operation on a list or a text | 22 more |
/// | each element that it inserts | 2 |
/// | each run of units that it removes | 16 |
/// | each unit in a run of a list | 1 |
/// | each 2 of the first 1,024 units in a run of a text | 1 |
/// | each 16 of the other units in a run of a text | 1 |
/// | making a record that these transactions have made already: all its fields are visited again | 4,096 |
///
/// Every replica rejects a segment with more steps than ``Limits/foldStepsMax``, because folding it would
/// hold the store's write lock for too long. A local write with more steps is refused. Work that depends on
/// stored records, such as all that a `create` clears, is not included: a commit counts it separately, and
/// splits it into several commits if it is too much.
package struct FoldWork: Sendable {
  /// The steps to make a record again.
  package static let stepsOfMakingAgain = 4096

  /// The steps for each run of units in a removal.
  static let stepsOfRun = 16

  package private(set) var steps = 0
  /// How many of the steps are for making records again. Few records are so large that it takes as many.
  package private(set) var stepsToMakeAgain = 0
  /// The names of the records made so far.
  private var made: Set<[UInt8]> = []

  package init() {}

  /// Adds a transaction whose body was parsed.
  package mutating func add(_ decoder: BodyDecoder, _ body: RawSpan) {
    for operation in decoder.operations {
      add(Self.steps(of: operation, in: body))
      guard operation.kind.makesRecord else { continue }
      let name = body.extracting(decoder.names[operation.record]).withUnsafeBytes { Array($0) }
      if !made.insert(name).inserted {
        add(Self.stepsOfMakingAgain)
        stepsToMakeAgain = Self.sum(stepsToMakeAgain, Self.stepsOfMakingAgain)
      }
    }
  }

  /// The steps of the operations of a body, but those to make records again.
  package static func steps(of decoder: BodyDecoder, _ body: RawSpan) -> Int {
    decoder.operations.reduce(0) { sum($0, steps(of: $1, in: body)) }
  }

  private static func steps(of operation: OperationLayout, in body: RawSpan) -> Int {
    sum(
      steps(ofPayload: operation.payload.count),
      steps(of: operation.kind, operand: body.extracting(operation.operand)))
  }

  /// The most steps for operations on registers, and operations that make records.
  package static func stepsMax(ofOperations count: Int, payloadBytes: Int) -> Int {
    2 * count + payloadBytes / bytesOfStep
  }

  /// The most steps for one operation.
  package static func steps(of change: FieldChange) throws(FormatError) -> Int {
    var operand = ByteWriter()
    try change.encode(into: &operand)
    // Each of its names takes up to three bytes.
    return steps(ofPayload: operand.count + 9) + steps(of: change.kind, operand: operand.span)
  }

  private mutating func add(_ more: Int) { steps = Self.sum(steps, more) }

  /// The steps of any operation.
  package static func steps(ofPayload byteCount: Int) -> Int { 2 + byteCount / bytesOfStep }

  /// How many bytes of payload count as one step.
  private static let bytesOfStep = 512

  /// The steps for an operation besides those of its payload: by its kind, and by what its operand contains.
  ///
  /// - Parameter operand: a valid operand.
  @inline(__always)
  package static func steps(of kind: OperationKind, operand: RawSpan) -> Int {
    kind.load == .none ? kind.steps : sum(kind.steps, steps(ofOperand: operand, kind))
  }

  /// The steps for the elements, references, assets and runs in an operand.
  private static func steps(ofOperand operand: RawSpan, _ kind: OperationKind) -> Int {
    var reader = ByteReader(operand)
    var found = OperandWork(isText: kind.namesScalars)
    // If the bytes are invalid, the part before the error counts.
    do throws(FormatError) { try FieldChange.read(kind, from: &reader, into: &found) } catch {}
    return found.steps
  }

  private struct OperandWork: OperandVisitor {
    let isText: Bool
    var steps = 0

    init(isText: Bool) { self.isText = isText }

    mutating func count(ofValues count: Int) { steps = sum(steps, 2 * count) }

    mutating func value(_ reader: inout ByteReader) throws(FormatError) {
      let start = reader.position
      try validateValue(&reader)
      try add(reader.bytes(in: start..<reader.position))
    }

    mutating func lastValue(_ reader: inout ByteReader) throws(FormatError) { try add(reader.readRest()) }

    private mutating func add(_ value: RawSpan) throws(FormatError) {
      let names = try NamesInValue(in: value)
      steps += 2 * names.references + 4 * names.assets
    }

    mutating func run(_ run: UnitSpan) {
      // A longer run exceeds every limit, and must not overflow the sum.
      let count = Int(min(run.count, 1 << 32))
      steps = sum(steps, stepsOfRun + (isText ? FoldWork.steps(ofTextRun: count) : count))
    }
  }

  /// How many steps more two runs take than one, at most, if a run is split.
  static func stepsOfCutRun(of count: UInt64, isText: Bool) -> Int {
    let count = Int(min(count, 2048))
    let first = min(count, 1024)
    let parts = steps(ofTextRun: first) + steps(ofTextRun: count - first)
    return stepsOfRun + (isText ? parts - steps(ofTextRun: count) + 1 : 0)
  }

  /// The steps for a run of a text's units. Long runs are mostly stored in few pieces.
  private static func steps(ofTextRun count: Int) -> Int {
    let first = min(count, 1024)
    return first / 2 + (count - first) / 16
  }

  /// A sum that stops at the greatest number.
  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, isOver) = left.addingReportingOverflow(right)
    return isOver ? .max : sum
  }
}
