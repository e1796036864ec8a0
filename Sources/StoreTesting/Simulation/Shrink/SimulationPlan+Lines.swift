extension SimulationPlan {
  /// The plan as people read it: what the world is, then a line a step.
  var lines: [String] {
    var lines = ["seed \(seed), over \(configuration.place.rawValue)" + remoteClock]
    lines.append("calls and answers take up to \(configuration.latencyMilliseconds) ms")
    lines += configuration.devices.enumerated().map { index, device in "d\(index) \(Self.text(device))" }
    let rates = SimulationFault.allCases.filter { configuration.has($0) }.map { fault in
      configuration.rate(fault) == 1000 ? fault.rawValue : "\(fault.rawValue) \(configuration.rate(fault)) ‰"
    }
    lines.append(rates.isEmpty ? "no faults" : "faults: \(rates.joined(separator: ", "))")
    for stream in Stream.allCases {
      guard let values = recorded[stream], let last = values.lastIndex(where: { $0 > 0 }) else { continue }
      lines.append("\(stream) choices: \(Self.text(Array(values[...last])))")
    }
    for (index, step) in steps.enumerated() {
      var line = "\(index + 1). "
      if step.events > 0 { line += "\(step.events == 1 ? "1 event" : "\(step.events) events"), then " }
      line += "d\(step.device) \(step.action.rawValue)"
      if let choices = step.choices, choices.contains(where: { $0 > 0 }) { line += " \(Self.text(choices))" }
      lines.append(line)
    }
    return lines
  }

  private var remoteClock: String {
    guard let offset = configuration.remoteClockOffset else { return "" }
    let isOff = offset == 0 ? [] : ["is \(offset) ms off"]
    let jumps = configuration.remoteClockErrors.isEmpty ? [] : ["jumps"]
    let words = (isOff + jumps).joined(separator: " and ")
    return ", with a clock" + (words.isEmpty ? "" : " that \(words)")
  }

  private static func text(_ device: SimulationConfiguration.Device) -> String {
    var words = [device.role.rawValue, "polls every \(device.pollMilliseconds) ms"]
    if let workload = device.workload { words.append("has only the zones of workload \(workload)") }
    if device.clockOffset != 0 { words.append("clock \(device.clockOffset) ms off") }
    if device.clockJumps { words.append("clock jumps") }
    if device.replicators > 1 { words.append("\(device.replicators) replicators") }
    if device.isOlder { words.append("of an older version") }
    if device.pageBytesMax < 8 << 20 { words.append("pages of \(device.pageBytesMax) bytes") }
    return words.joined(separator: ", ")
  }

  /// Numbers, many zeros as one word.
  private static func text(_ choices: [Int]) -> String {
    var words: [String] = []
    var index = 0
    while index < choices.count {
      let run = choices[index...].prefix { $0 == choices[index] }.count
      words.append(
        run > 3
          ? "\(run)×\(choices[index])"
          : Array(repeating: "\(choices[index])", count: run).joined(separator: " "))
      index += run
    }
    return "[\(words.joined(separator: " "))]"
  }
}
