/// How much operations on lists and texts may grow when they are issued again under another replica and
/// epoch. Each unit in them then has another maker, which is written in full, and a run of units may become
/// two.
///
/// A write leaves room for this growth. Without it, a valid write might be impossible to issue again, and its
/// zone could never be shipped.
package struct RenamingGrowth: Hashable, Sendable {
  package private(set) var steps = 0
  package private(set) var bytes = 0

  /// A maker takes a replica (16 bytes) and an epoch (up to 5 bytes); the operation's byte count may take one
  /// more.
  private static let bytesOfMaker = 24

  init() {}

  /// Adds an operation.
  ///
  /// - Parameters:
  ///   - operand: a valid operand.
  ///   - payloadBytes: the bytes of its payload, with the names.
  mutating func add(_ kind: OperationKind, operand: RawSpan, payloadBytes: Int) {
    var units: Int
    switch kind.units {
    case .none: return
    case .places(let count), .scalars(let count): units = count
    }
    if kind.load == .runs {
      let counts = FieldChange.runCounts(kind, operand)
      // The second part of each split run also has a number and a count.
      units += 3 * counts.count
      for count in counts { steps += FoldWork.stepsOfCutRun(of: count, isText: kind.namesScalars) }
    }
    let grown = units * Self.bytesOfMaker
    bytes += grown
    steps += FoldWork.steps(ofPayload: payloadBytes + grown) - FoldWork.steps(ofPayload: payloadBytes)
  }
}

extension FieldChange {
  /// The number of units in each run of a removal.
  fileprivate static func runCounts(_ kind: OperationKind, _ operand: RawSpan) -> [UInt64] {
    var reader = ByteReader(operand)
    var found = RunCounts()
    // If the bytes are invalid, the runs before the error count.
    do throws(FormatError) { try read(kind, from: &reader, into: &found) } catch {}
    return found.counts
  }

  private struct RunCounts: OperandVisitor {
    var counts: [UInt64] = []

    mutating func run(_ run: UnitSpan) { counts.append(run.count) }
  }
}
