/// What operations on lists and texts may grow by where they are issued again, as those of another lane: each unit that they name
/// then has another maker, which is named in full, and a run of units may become two.
///
/// A write leaves room for it. Else one that is legal could not be issued again, and its zone would never be shipped.
package struct RenamedUnits: Hashable, Sendable {
  package private(set) var steps = 0
  package private(set) var bytes = 0

  /// A maker takes a replica (16 bytes) and an epoch (up to 5); a number of an operation's bytes may take one more.
  private static let bytesOfMaker = 24

  package init() {}

  /// Adds an operation.
  ///
  /// - Parameters:
  ///   - operand: bytes that were found valid.
  ///   - payloadBytes: the bytes of its payload, with the names.
  package mutating func add(_ kind: OperationKind, operand: RawSpan, payloadBytes: Int) {
    guard kind.namesUnits else { return }
    var units = kind == .moveElement ? 2 : 1
    if kind == .removeElements || kind == .removeText {
      let counts = FieldChange.runCounts(operand)
      // The second part of each has a number and a count as well.
      units = 3 * counts.count
      for count in counts { steps += FoldWork.stepsOfCutRun(of: count, isText: kind == .removeText) }
    }
    let grown = units * Self.bytesOfMaker
    bytes += grown
    steps += FoldWork.steps(ofPayload: payloadBytes + grown) - FoldWork.steps(ofPayload: payloadBytes)
  }
}

extension FieldChange {
  /// How many units each run has that a removal names; none of bytes that are no removal.
  fileprivate static func runCounts(_ operand: RawSpan) -> [UInt64] {
    var reader = ByteReader(operand)
    var units = UnitReader()
    var counts: [UInt64] = []
    do throws(FormatError) {
      for _ in 0..<(try readCount(&reader)) { counts.append(try units.readRun(&reader).count) }
    } catch {
      // Its beginning counts.
    }
    return counts
  }
}
