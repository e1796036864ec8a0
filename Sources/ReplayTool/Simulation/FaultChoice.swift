import EventStore
import StoreTesting

/// Parses the faults that may occur.
enum FaultChoice {
  /// Parses `all`, `none`, a list of the only faults, or a list of excluded faults, each after a `-`.
  static func parse(_ text: String) throws(ToolError) -> Set<SimulationFault> {
    switch text {
    case "all": return Set(SimulationFault.allCases)
    case "none": return []
    default: break
    }
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    let isWithout = words.allSatisfy { $0.hasPrefix("-") }
    guard isWithout || words.allSatisfy({ !$0.hasPrefix("-") }) else {
      throw .input(
        "faultsInvalid", "“\(Display.plain(text, limit: 200))” mixes faults to have with faults to leave out",
        hint: "name the faults to have, or put a - before each that is left out")
    }
    var faults: Set<SimulationFault> = []
    for word in words {
      let name = String(word.drop { $0 == "-" })
      guard let fault = SimulationFault(rawValue: name) else {
        throw .input(
          "faultsInvalid", "there is no fault “\(Display.plain(name, limit: 60))”",
          hint: "`replay simulate --faults list` prints them")
      }
      faults.insert(fault)
    }
    return isWithout ? Set(SimulationFault.allCases).subtracting(faults) : faults
  }

  /// The faults as an argument that ``parse(_:)`` accepts; nil for all.
  static func text(_ faults: Set<SimulationFault>) -> String? {
    let without = SimulationFault.allCases.filter { !faults.contains($0) }
    if without.isEmpty { return nil }
    if faults.isEmpty { return "none" }
    if without.count < faults.count { return without.map { "-\($0.rawValue)" }.joined(separator: ",") }
    return SimulationFault.allCases.filter { faults.contains($0) }.map(\.rawValue).joined(separator: ",")
  }

  /// Prints the faults.
  static func printList(_ output: Output) throws {
    try output.line(output.styled("faults", .heading))
    var columns = Columns(output, indent: 2)
    for fault in SimulationFault.allCases { try columns.add([.init(fault.rawValue), .init(fault.summary)]) }
    try columns.flush()
  }

  static var listJSON: JSON {
    .object([
      "faults": .array(
        SimulationFault.allCases.map {
          .object(["name": .string($0.rawValue), "summary": .string($0.summary)])
        })
    ])
  }
}
