import ArgumentParser
import EventStore
import StoreTesting

/// `replay history`: runs the history of many writers through real stores.
struct HistoryCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Runs a history of many writers through real stores, and compares them.",
    discussion: """
      Every author gets a device with its own store. A commit is a write on its author's device: a file is a record, and \
      the first component of its path is its zone. Devices sync now and then through one remote. At the end all devices sync \
      until nothing changes, and the records of each must equal the files of the final tree.

      With --clock author only causality orders the commits. That is exact if every device syncs before and after each of \
      its commits, with --sync-every 1 --offline 0.

      Example: replay history --git ~/project --devices 16 --sync-every 20 --offline 0.7
      Example: replay history log.jsonl.gz --final final.tsv.gz --remote folder:/tmp/remote
      """)

  @Argument(help: "A history in JSON lines, plain or compressed with gzip.")
  var file: String?

  @Option(
    name: .customLong("final"),
    help: ArgumentHelp("The files at the end of the history: path, blob, size.", valueName: "file"))
  var finalFile: String?

  @Option(help: ArgumentHelp("The first-parent history of this git repository.", valueName: "directory"))
  var git: String?

  /// More commits than that are not generated: they are all in memory.
  private static let generatedMax = 1_000_000

  @Option(
    help: ArgumentHelp(
      "A generated history of this many commits, at most \(generatedMax).", valueName: "count"))
  var generate: Int?

  @Option(
    help: ArgumentHelp(
      "memory, folder:DIR with a new or empty directory, s3://BUCKET/PREFIX with nothing there, or http://HOST:PORT of an empty remote.",
      valueName: "remote"))
  var remote = "memory"

  @Option(help: "How many devices; default: one for each author.")
  var devices: Int?

  @Option(help: ArgumentHelp("A device syncs after this many of its commits.", valueName: "count"))
  var syncEvery = 1

  @Option(help: ArgumentHelp("The chance that a due sync is skipped.", valueName: "0…1"))
  var offline = 0.0

  @Option(help: ArgumentHelp("What the devices' clocks follow: history or author.", valueName: "clock"))
  var clock = HistoryOptions.Clock.history.rawValue

  @Option(help: "The seed of identities, the dealing of authors and chances.")
  var seed: UInt64 = 1

  @Option(help: ArgumentHelp("Keep the stores in this new directory.", valueName: "directory"))
  var keep: String?

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }
  var hintIfInterrupted: String {
    keep == nil && remote == "memory"
      ? "nothing was changed; run it again" : "what was written stays; run it again with new directories"
  }

  func validate() throws {
    guard [file, git, generate.map(String.init)].count(where: { $0 != nil }) == 1 else {
      throw ValidationError("Give one of: a file, --git, --generate.")
    }
    guard (file == nil) == (finalFile == nil) else {
      throw ValidationError("A file and --final go together.")
    }
    guard 0...Self.generatedMax ~= generate ?? 0 else {
      throw ValidationError("--generate must be from 0 to \(Self.generatedMax).")
    }
    guard 1...HistoryOptions.devicesMax ~= devices ?? 1 else {
      throw ValidationError("--devices must be from 1 to \(HistoryOptions.devicesMax).")
    }
    guard syncEvery > 0, 0...1 ~= offline, generate ?? 0 >= 0 else {
      throw ValidationError(
        "--sync-every must be at least 1, --offline from 0 to 1, --generate not negative.")
    }
    guard HistoryOptions.Clock(rawValue: clock) != nil else {
      throw ValidationError("--clock must be history or author.")
    }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    var options = HistoryOptions(remote: try RunnerRemote(option: remote, console))
    options.devices = devices
    options.syncEvery = syncEvery
    options.offlineChance = offline
    options.clock = HistoryOptions.Clock(rawValue: clock) ?? .history
    options.seed = seed
    options.keepDirectory = keep
    let progress = Progress(console)
    defer { progress.end() }
    let time = ContinuousClock()
    let start = time.now
    let report: HistoryReport
    do {
      report = try await HistoryRunner(options).run(try source()) { step in
        try progress.update(
          Self.text(step.stage), done: UInt64(step.done), total: step.total.map { UInt64($0) })
      }
    } catch let error as ToolError where error.code == "gitFailed" && console.isInterrupted() {
      // An interrupt from the keyboard also ends git.
      throw Interrupted()
    }
    progress.end()
    let seconds = start.duration(to: time.now) / .seconds(1)
    if json {
      try console.output.line(report.json(seconds: seconds))
    } else {
      try HistoryPage(report: report, seconds: seconds).print(console.output)
    }
    return report.difference == nil ? nil : .problem
  }

  private func source() throws -> any HistorySource {
    if let file, let finalFile { return OperationLogHistory(file: file, finalFile: finalFile) }
    if let git { return GitHistory(repository: try GitRepository(git)) }
    return GeneratedHistory(commits: generate ?? 0, seed: seed)
  }

  private static func text(_ stage: HistoryProgress.Stage) -> String {
    switch stage {
    case .writing: "running commits"
    case .syncing: "syncing until nothing moves"
    case .comparing: "comparing devices"
    }
  }
}

extension HistoryReport {
  fileprivate func json(seconds: Double) -> JSON {
    .members([
      "commits": .number(commits), "transactions": .number(transactions),
      "operations": .number(operations), "conflicts": .number(conflicts),
      "segments": .number(segments), "bytesShipped": .number(bytesShipped),
      "folded": .number(folded), "rounds": .number(rounds),
      "remoteCalls": .number(remoteCalls), "seconds": .fraction(HistoryPage.text(seconds)),
      "devices": .array(devices.map { .string($0) }), "files": .number(files),
      "state": .text(stateDigest),
      "digests": .array(
        digests.map { .object(["zone": .text($0.zone), "digest": .text($0.digest)]) }),
      "mostContested": mostContested.map { .text($0) }, "areEqual": .bool(difference == nil),
      "difference": difference.map {
        .object([
          "device": .string($0.device), "place": .string($0.place), "expected": .string($0.expected),
          "found": .string($0.found),
        ])
      },
    ])
  }
}
