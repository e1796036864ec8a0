import ArgumentParser
import EventStore
import StoreTesting

/// `replay scenario`: runs scenarios of several devices that must agree at the end.
struct ScenarioCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "scenario",
    abstract: "Runs scenarios: devices that write, go offline, sync, and must agree.",
    discussion: """
      Each scenario of a file runs with real stores, a new one for each device, over a remote in memory or in a folder. A \
      line for each scenario says whether it passed, failed, or needs something that this version cannot do. The command \
      ends with 1 if any failed. The page Scenario files of StoreTesting has the format.

      Example: replay scenario offline-edits.yaml --remote folder:/tmp/remotes
      """)

  @Argument(help: ArgumentHelp("Files of scenarios, in YAML; - for standard input.", valueName: "file"))
  var files: [String]

  @Option(
    help: ArgumentHelp(
      "memory; folder:DIR, a directory that gets a new folder for each scenario; or, for one scenario, s3://BUCKET/PREFIX "
        + "with nothing there, or http://HOST:PORT of an empty remote.", valueName: "remote"))
  var remote = "memory"

  @Option(help: ArgumentHelp("Only the scenario with this id.", valueName: "id"))
  var only: String?

  @Option(help: "The seed of identities and shuffles.")
  var seed: UInt64 = 1

  @Flag(name: .long, help: "Print JSON: one object for each scenario, and the counts.")
  var json = false

  var printsJSON: Bool { json }

  private struct Counts {
    var passed = 0
    var failed = 0
    var skipped = 0

    mutating func add(_ outcome: ScenarioResult.Outcome) {
      switch outcome {
      case .passed: passed += 1
      case .failed: failed += 1
      case .skipped: skipped += 1
      }
    }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let runner = ScenarioRunner(remote: try RunnerRemote(option: remote, console), seed: seed)
    var counts = Counts()
    let scenarios = try scenarios(console)
    try runner.remote.prepare()
    for scenario in scenarios {
      if console.isInterrupted() { throw Interrupted() }
      let result = await runner.run(scenario)
      counts.add(result.outcome)
      if json {
        try console.output.line(result.json)
      } else {
        try console.output.line(Self.styled(result, console.output))
      }
      try console.output.flush()
    }
    if json {
      try console.output.line(
        .object([
          "passed": .number(counts.passed), "failed": .number(counts.failed),
          "skipped": .number(counts.skipped),
        ]))
    } else {
      try console.output.line("\(counts.passed) passed, \(counts.failed) failed, \(counts.skipped) skipped")
    }
    return counts.failed > 0 ? .problem : nil
  }

  /// All scenarios of all files, read before the first one runs.
  private func scenarios(_ console: Console) throws -> [Scenario] {
    var scenarios: [Scenario] = []
    for file in files {
      let source = file == "-" ? try console.input() : try DescriptorSource(path: file)
      do {
        scenarios += try ScenarioFile.parse(yaml: try Self.text(of: source)).scenarios
      } catch let error as ScenarioError {
        let place = error.line > 0 ? "line \(error.line) of \(source.name)" : source.name
        throw ToolError.input(error.code.rawValue, "\(place): \(error.message)", hint: error.hint)
      }
    }
    guard let only else { return scenarios }
    let chosen = scenarios.filter { $0.id == only }
    guard !chosen.isEmpty else {
      throw ToolError.input(
        "scenarioUnknown", "there is no scenario “\(Display.plain(only))”",
        hint: "there are \(Display.list(scenarios.map { Display.plain($0.id) }, max: 8))")
    }
    return chosen
  }

  private static func text(of source: any ByteSource) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count <= ScenarioFile.bytesMax {
      let next = try source.read(upTo: 1 << 16)
      guard !next.isEmpty else { break }
      bytes += next
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ToolError.input("notYAML", "\(source.name) is not UTF-8", hint: "write it in UTF-8")
    }
    return text
  }

  private static func styled(_ result: ScenarioResult, _ output: Output) -> String {
    let style: Style =
      switch result.outcome {
      case .passed: .winner
      case .failed: .loser
      case .skipped: .quiet
      }
    let line = Display.plain(result.line)
    let word = line.prefix { $0 != " " }
    return output.styled(String(word), style) + line.dropFirst(word.count)
  }
}

extension RunnerRemote {
  init(option text: String, _ console: Console) throws {
    if let remote = RunnerRemote(text) {
      self = remote
    } else if case let address? = try? RemoteAddress(text), !address.isFolder {
      self = .other(Elsewhere(text) { try await address.open(creates: true, console) })
    } else {
      throw ToolError.input(
        "schemeUnknown", "“\(Display.plain(text))” names no remote",
        hint: "use memory, folder:DIR, s3://BUCKET/PREFIX or http://HOST:PORT")
    }
  }
}

extension ScenarioResult {
  fileprivate var json: JSON {
    var members: [Name: JSON] = ["id": .string(id)]
    switch outcome {
    case .passed: members["outcome"] = .string("passed")
    case .failed(let failure):
      members["outcome"] = .string("failed")
      members["place"] = .string(failure.place)
      members["expected"] = .string(failure.expected)
      members["found"] = .string(failure.found)
    case .skipped(let capability):
      members["outcome"] = .string("skipped")
      members["capability"] = .string(capability)
    }
    members["devices"] = .array(
      devices.map { device in
        .object([
          "device": .string(device.name),
          "digests": .array(
            device.digests.map { .object(["zone": .text($0.zone), "digest": .text($0.digest)]) }),
        ])
      })
    return .object(members)
  }
}
