import EventStore
import StoreTesting

/// What occurred in worlds, counted by name: a ``SimulationCoverage`` in a form that processes exchange.
struct SimulationCounts: Equatable {
  var faults: [String: Int] = [:]
  var marks: [String: Int] = [:]
  /// Counted by error code.
  var codes: [String: Int] = [:]

  init() {}

  init(_ coverage: SimulationCoverage) {
    for (fault, count) in coverage.faultCounts where count > 0 { faults[fault.rawValue] = count }
    for (mark, count) in coverage.markCounts where count > 0 { marks[mark.rawValue] = count }
    for (code, count) in coverage.codeCounts where count > 0 { codes[code] = count }
  }

  mutating func add(_ other: SimulationCounts) {
    faults.merge(other.faults, uniquingKeysWith: +)
    marks.merge(other.marks, uniquingKeysWith: +)
    codes.merge(other.codes, uniquingKeysWith: +)
  }

  /// The possible faults and the marks that never occurred, in order.
  func missing(of faults: Set<SimulationFault>) -> [String] {
    SimulationFault.allCases.filter { faults.contains($0) }.map(\.rawValue).filter { self.faults[$0] == nil }
      + SimulationCoverage.Mark.allCases.map(\.rawValue).filter { marks[$0] == nil }
  }
}

extension SimulationCounts {
  var json: JSON {
    .object(["faults": Self.json(faults), "marks": Self.json(marks), "codes": Self.json(codes)])
  }

  init(_ members: inout JSONMembers) throws(JSONError) {
    faults = try Self.counts(members.require("faults"), members.child("faults"))
    marks = try Self.counts(members.require("marks"), members.child("marks"))
    codes = try Self.counts(members.require("codes"), members.child("codes"))
    try members.finish()
  }

  private static func json(_ counts: [String: Int]) -> JSON {
    .object(Dictionary(uniqueKeysWithValues: counts.map { (Name($0), .number($1)) }))
  }

  private static func counts(_ json: JSON, _ path: String) throws(JSONError) -> [String: Int] {
    guard case .object(let members) = json else { throw JSONError(in: path, "an object was expected") }
    var counts: [String: Int] = [:]
    for (name, value) in members {
      guard case .integer(let number) = value, let count = Int(exactly: number) else {
        throw JSONError(in: path, "a count was expected")
      }
      counts[name.rawValue] = count
    }
    return counts
  }
}
