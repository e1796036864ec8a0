/// How much work it is to fold transactions, in steps. It is counted from their bytes alone, so that everybody counts the
/// same, wherever and whenever they are folded.
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
/// | each unit of a list that a run names | 1 |
/// | each 2 units of a text that a run names, of its first 1,024 | 1 |
/// | each 16 units of a text that a run names after those | 1 |
/// | making a record that was made before in the same transactions: all its fields are looked at once more | 4,096 |
///
/// A segment of more steps than ``Limits/foldStepsMax`` is rejected by every replica: who folds it would hold its store's
/// write lock for too long. A write of more steps is refused where it is made. What lies in records cannot be counted so, as all
/// that a `create` takes away: a commit counts that apart, and what is too much for one is folded in many.
package struct FoldWork: Sendable {
  /// What it takes to make a record once more.
  package static let stepsOfMakingAgain = 4096

  /// What each run of units that a removal names takes.
  static let stepsOfRun = 16

  package private(set) var steps = 0
  /// The names of the records that were made.
  private var made: Set<[UInt8]> = []

  package init() {}

  /// Adds a transaction, whose body was parsed.
  package mutating func add(_ layout: BodyDecoder, _ body: RawSpan) {
    for operation in layout.operations {
      add(Self.steps(ofPayload: operation.payload.count))
      add(Self.steps(of: operation.kind, operand: body.extracting(operation.operand)))
      guard operation.kind == .create || operation.kind == .moveHere else { continue }
      let name = body.extracting(layout.names[operation.record]).withUnsafeBytes { Array($0) }
      if !made.insert(name).inserted { add(Self.stepsOfMakingAgain) }
    }
  }

  /// As many steps as operations on registers, and what makes records, take at most.
  package static func stepsMax(ofOperations count: Int, payloadBytes: Int) -> Int {
    2 * count + payloadBytes / bytesOfStep
  }

  /// The steps that one operation takes at most.
  package static func steps(of change: FieldChange) throws(FormatError) -> Int {
    var operand = ByteWriter()
    try change.encode(into: &operand)
    // Each of its names takes up to three bytes.
    return steps(ofPayload: operand.count + 9) + steps(of: change.kind, operand: operand.span)
  }

  private mutating func add(_ more: Int) { steps = Self.sum(steps, more) }

  /// The steps of any operation.
  package static func steps(ofPayload byteCount: Int) -> Int { 2 + byteCount / bytesOfStep }

  /// So many bytes of a payload are as much work as a step.
  private static let bytesOfStep = 512

  /// What an operation takes beside that, by what it does and what its values name.
  ///
  /// - Parameter operand: bytes that were found valid.
  @inline(__always)
  package static func steps(of kind: OperationKind, operand: RawSpan) -> Int {
    var steps = 0
    if kind.namesUnits {
      steps = 22 + self.steps(ofNamed: kind, operand)
    } else {
      switch kind {
      case .add, .insert, .remove, .put, .removeKey, .contribute: steps = 2
      default: break
      }
    }
    return kind.storesValues ? sum(steps, self.steps(ofNamesIn: operand, kind)) : steps
  }

  /// What the records and assets take that values name.
  private static func steps(ofNamesIn operand: RawSpan, _ kind: OperationKind) -> Int {
    var steps = 0
    do throws(FormatError) {
      try FieldChange.forEachValue(kind, in: operand) { value throws(FormatError) in
        let names = try NamesInValue(in: value)
        steps += 2 * names.references + 4 * names.assets
      }
    } catch {
      // Its beginning counts.
    }
    return steps
  }

  /// How much more two runs take than the one that they were, at most.
  static func stepsOfCutRun(of count: UInt64, isText: Bool) -> Int {
    let count = Int(min(count, 2048))
    let first = min(count, 1024)
    let parts = steps(ofTextRun: first) + steps(ofTextRun: count - first)
    return stepsOfRun + (isText ? parts - steps(ofTextRun: count) + 1 : 0)
  }

  /// What a run of a text's units takes. Long runs are mostly told in few pieces.
  private static func steps(ofTextRun count: Int) -> Int {
    let first = min(count, 1024)
    return first / 2 + (count - first) / 16
  }

  private static func steps(ofNamed kind: OperationKind, _ operand: RawSpan) -> Int {
    var reader = ByteReader(operand)
    var units = UnitReader()
    var steps = 0
    do throws(FormatError) {
      switch kind {
      case .insertElements:
        _ = try units.readOrigin(&reader)
        steps = 2 * (try FieldChange.readCount(&reader))
      case .removeElements, .removeText:
        for _ in 0..<(try FieldChange.readCount(&reader)) {
          // More than are ever allowed are too many, and never more than a sum can hold.
          let count = Int(min(try units.readRun(&reader).count, 1 << 32))
          steps = sum(steps, stepsOfRun + (kind == .removeText ? Self.steps(ofTextRun: count) : count))
        }
      default: break
      }
    } catch {
      // Its beginning counts.
    }
    return steps
  }

  /// A sum that stays at the greatest number.
  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, isOver) = left.addingReportingOverflow(right)
    return isOver ? .max : sum
  }
}
