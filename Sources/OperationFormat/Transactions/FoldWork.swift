/// How much work it is to fold transactions, in steps. It is counted from their bytes alone, so that everybody counts the
/// same, wherever and whenever they are folded.
///
/// | what | steps |
/// |---|---|
/// | an operation | 1, and 1 for each 512 bytes of its payload; no more for one of an unknown kind |
/// | each element that it inserts, each run of units that it removes | 1 |
/// | each 64 units that a run names, each 64 bytes of text that it inserts | 1 |
/// | making a record that was made before in the same transactions: all its fields are looked at once more | 1,024 |
///
/// A segment of more steps than ``Limits/foldStepsMax`` is rejected by every replica: who folds it would hold its store's
/// write lock for too long. A write of more steps is refused where it is made.
package struct FoldWork: Sendable {
  /// What it takes to make a record once more.
  package static let stepsOfMakingAgain = 1024

  package private(set) var steps = 0
  /// The names of the records that were made.
  private var made: Set<[UInt8]> = []

  package init() {}

  /// Adds a transaction, whose body was parsed.
  package mutating func add(_ layout: BodyLayout, _ body: RawSpan) {
    for operation in layout.operations {
      add(Self.steps(ofPayload: operation.payload.count))
      add(Self.steps(ofUnits: operation.kind, operand: body.extracting(operation.operand)))
      guard operation.kind == .create || operation.kind == .moveHere else { continue }
      let name = body.extracting(layout.names[operation.record]).bytes
      if !made.insert(name).inserted { add(Self.stepsOfMakingAgain) }
    }
  }

  private mutating func add(_ more: Int) { steps = Self.sum(steps, more) }

  /// The steps of any operation.
  static func steps(ofPayload byteCount: Int) -> Int { 1 + byteCount / 512 }

  /// What an operation on a list or a text takes beside that.
  ///
  /// - Parameter operand: bytes that were found valid.
  @inline(__always)
  static func steps(ofUnits kind: OperationKind, operand: RawSpan) -> Int {
    guard kind.namesUnits else { return 0 }
    switch kind {
    case .insertElements: return elements(of: operand)
    case .removeElements, .removeText: return runs(of: operand)
    case .insertText: return operand.byteCount / 64
    default: return 0
    }
  }

  private static func elements(of operand: RawSpan) -> Int {
    var reader = ByteReader(operand)
    var units = UnitReader()
    do throws(FormatError) {
      _ = try units.readOrigin(&reader)
      return try FieldChange.readCount(&reader)
    } catch {
      return 0
    }
  }

  private static func runs(of operand: RawSpan) -> Int {
    var reader = ByteReader(operand)
    var units = UnitReader()
    var steps = 0
    do throws(FormatError) {
      for _ in 0..<(try FieldChange.readCount(&reader)) {
        steps = sum(steps, 1 + Int(clamping: try units.readRun(&reader).count / 64))
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
