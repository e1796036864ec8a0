import ArgumentParser
import EventStore

/// The `replay` command: shows, runs and explains the log of a store.
@main
struct Replay: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Shows, runs and explains the log of a store.",
    discussion: """
      A store keeps every change. replay shows the changes, says why a value is what it is, and checks that the records \
      match the log. Only commands that say so change a store.

      Zones are named name or owner/name, records zone:record-name. Times are UTC.

        replay explain notes.store shopping:milk title

      Exit codes: 0 no problem, 1 a problem was found or output could not be written completely, 2 the input, or a place for \
      output, cannot be used, 3 the store cannot be opened, read or written, 4 the remote cannot be used, 130 interrupted. \
      Commands that run until they are interrupted, such as sync --watch and log --follow, then end with 0.
      """,
    version: "0.1.0",
    groupedSubcommands: [
      CommandGroup(
        name: "Look",
        subcommands: [
          InfoCommand.self, LogCommand.self, ShowCommand.self, StateCommand.self, QueryCommand.self,
          SchemaCommand.self, DigestCommand.self, SegmentCommand.self, AssetCommand.self,
        ]),
      CommandGroup(
        name: "Understand", subcommands: [ExplainCommand.self, ConflictsCommand.self, HoldersCommand.self]),
      CommandGroup(
        name: "Check and repair",
        subcommands: [
          VerifyCommand.self, RebuildCommand.self, RemoteCommand.self, UpgradeCommand.self,
          RetireCommand.self, CompactCommand.self, TrimCommand.self,
        ]),
      CommandGroup(
        name: "Move",
        subcommands: [BackupCommand.self, RestoreCommand.self, ExportCommand.self, ImportCommand.self]),
      CommandGroup(name: "Sync", subcommands: [SyncCommand.self, ZoneCommand.self]),
      CommandGroup(
        name: "Test",
        subcommands: [
          ScenarioCommand.self, HistoryCommand.self, FoldCheckCommand.self, SimulateCommand.self,
          LockHoldsCommand.self,
        ]),
    ])

  static func main() async {
    let console = Console.makeSystem()
    let exit = await run(Array(CommandLine.arguments.dropFirst()), console: console)
    Self.exit(withError: exit == 0 ? nil : ExitCode(exit))
  }

  /// Parses arguments and runs their command.
  ///
  /// - Returns: the exit code.
  static func run(_ arguments: [String], console: Console) async -> Int32 {
    let command: any ParsableCommand
    let printsJSON = arguments.contains("--json")
    let named = arguments.first == "help" ? Array(arguments.dropFirst()) : arguments
    do {
      command = try parseAsRoot(arguments)
      if named != arguments, let unknown = Self.unknownCommand(in: named) { throw unknown }
    } catch {
      if let unknown = Self.unknownCommand(in: named) {
        return finish(console, report(unknown, printsJSON: printsJSON, console: console))
      }
      return finish(console, report(usage: error, printsJSON: printsJSON, console: console))
    }
    guard let command = command as? any ReplayCommand else {
      return await runOther(command, console: console)
    }
    return await run(command, console: console)
  }

  /// Runs a command, prints its error, and returns the exit code.
  static func run(_ command: any ReplayCommand, console: Console) async -> Int32 {
    do {
      let exit = try await command.run(console)
      try console.output.flush()
      return finish(console, exit?.rawValue ?? 0)
    } catch is OutputClosed {
      return 0
    } catch {
      // Print the output before the error, if it can be written.
      do { try console.output.flush() } catch is OutputClosed { return 0 } catch {}
      var error = error is Interrupted ? .interrupted(hint: command.hintIfInterrupted) : ToolError(error)
      error.hint = command.places.fill(error.hint)
      return finish(console, report(error, printsJSON: command.printsJSON, console: console))
    }
  }

  /// Runs a command that prints on its own: help, or a command of another target.
  private static func runOther(_ command: sending any ParsableCommand, console: Console) async -> Int32 {
    var command = command
    do {
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      return finish(console, 0)
    } catch {
      return finish(console, report(usage: error, printsJSON: false, console: console))
    }
  }

  /// Prints help, or the problem of the arguments.
  private static func report(usage error: any Error, printsJSON: Bool, console: Console) -> Int32 {
    let code = exitCode(for: error) == .success ? 0 : ToolError.Exit.input.rawValue
    var message = fullMessage(for: error)
    let prefix = "Error: "
    if message.hasPrefix(prefix) {
      message = console.errors.styled("error:", .loser) + " " + message.dropFirst(prefix.count)
    }
    if code != 0, printsJSON {
      let usage = ToolError(
        "usage", self.message(for: error), hint: "run the command with --help to see how it is used")
      _ = report(usage, printsJSON: true, console: console)
      return code
    }
    do {
      if !message.isEmpty { try (code == 0 ? console.output : console.errors).line(message) }
    } catch {
      return 0
    }
    return code
  }

  /// The error for an unknown command or subcommand, with the one that may be meant; nil if the first arguments
  /// are known ones.
  static func unknownCommand(in arguments: [String]) -> ToolError? {
    guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
    let commands = configuration.subcommands
    guard let command = commands.first(where: { $0.configuration.commandName == first }) else {
      let names = ["help"] + commands.compactMap { $0.configuration.commandName }
      guard first != "help" else { return nil }
      return ToolError.input(
        "usage", "there is no command “\(first)”",
        hint: near(first, names).map { "did you mean `replay \($0)`?" }
          ?? "`replay --help` lists the commands")
    }
    let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
    guard let example = names.first, let second = arguments.dropFirst().first, !second.hasPrefix("-"),
      !names.contains(second), second != "help"
    else { return nil }
    let meant =
      near(second, names).map { "`replay \(first) \($0)`" }
      ?? "`replay \(first) \(example) \(second.argument)`"
    return ToolError.input(
      "usage", "`replay \(first)` has no command “\(second)”",
      hint: "it has \(Display.list(names, max: 12)): did you mean \(meant)?")
  }

  /// The name that is nearly another one; nil if none is.
  private static func near(_ text: String, _ names: [String]) -> String? {
    let near = names.map { (name: $0, distance: distance(text, $0)) }.filter { $0.distance <= 2 }
    return near.min { $0.distance < $1.distance }?.name
  }

  /// How many letters must be added, removed, changed or swapped with their neighbour to turn one word into
  /// another.
  private static func distance(_ one: String, _ other: String) -> Int {
    let (a, b) = (Array(one.utf8.prefix(64)), Array(other.utf8))
    var rows = [Array(0...b.count)]
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }

  private static func report(_ error: ToolError, printsJSON: Bool, console: Console) -> Int32 {
    let errors = console.errors
    do {
      if printsJSON {
        try errors.line(error.json)
      } else {
        try errors.line(errors.styled("error:", .loser) + " " + Display.plain(error.message))
        try errors.line(errors.styled("hint:", .quiet) + " " + Display.plain(error.hint))
      }
    } catch {
      // Nobody reads the errors; the exit code still reports the failure.
    }
    return error.exit.rawValue
  }

  private static func finish(_ console: Console, _ code: Int32) -> Int32 {
    do {
      try console.output.flush()
      try console.errors.flush()
    } catch {
      // As above.
    }
    return code
  }
}
