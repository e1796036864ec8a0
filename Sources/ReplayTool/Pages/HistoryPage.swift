import StoreTesting

/// Prints the result of `replay history` for people.
struct HistoryPage {
  let report: HistoryReport
  let seconds: Double

  func print(_ output: Output) throws {
    var columns = Columns(output)
    func add(_ name: String, _ value: String) throws {
      try columns.add([.init(name, .quiet), .init(value)])
    }
    try add("commits", Display.count(report.commits))
    try add("transactions", Display.count(report.transactions))
    try add("operations", Display.count(report.operations))
    try add("conflicts", Display.count(report.conflicts))
    try add("segments", Display.count(report.segments))
    try add("bytes shipped", Display.count(report.bytesShipped))
    let rate = seconds > 0 ? Int((Double(report.folded) / seconds).rounded()) : 0
    try add("folded", "\(Display.count(report.folded)) of others, \(Display.count(rate)) a second")
    try add(
      "rounds of sync",
      "\(Display.count(report.rounds)), \(Display.count(report.remoteCalls)) calls of the remote")
    try add("seconds", Self.text(seconds))
    try add("state", "\(report.stateDigest)")
    if let record = report.mostContested { try add("most contested", Display.record(record)) }
    try columns.flush()
    try output.line()
    if let difference = report.difference {
      try output.line(output.styled("different:", .loser) + " " + Display.plain(difference.description))
    } else {
      let devices = Display.count(report.devices.count, "device")
      let verb = report.devices.count == 1 ? "equals" : "equal"
      try output.line(
        output.styled("\(devices) \(verb) the final tree", .winner)
          + ", \(Display.count(report.files, "file"))")
    }
  }

  /// Seconds with three decimals.
  static func text(_ seconds: Double) -> String {
    let milliseconds = Int((seconds * 1000).rounded())
    let rest = String(milliseconds % 1000)
    return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}
