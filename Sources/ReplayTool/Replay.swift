import ArgumentParser

/// The `replay` command: shows, runs and explains the log of a store.
@main
struct Replay: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Shows, runs and explains the log of a store.",
    discussion: """
      A store keeps every change. replay shows them, says why a value is what it is, and checks that the \
      records are what the log says. It changes a store only in the commands that say so.

      Zones are named name or owner/name, records zone:record-name. Times are UTC.

        replay explain notes.store shopping:milk title

      Exit codes: 0 fine, 1 a problem was found, 2 the input cannot be used, 3 the store cannot be opened, \
      4 the remote cannot be used.
      """,
    version: "0.1.0",
    groupedSubcommands: [
      CommandGroup(
        name: "Look",
        subcommands: [
          InfoCommand.self, LogCommand.self, ShowCommand.self, StateCommand.self, DigestCommand.self,
          SegmentCommand.self, AssetCommand.self,
        ]),
      CommandGroup(
        name: "Understand", subcommands: [ExplainCommand.self, ConflictsCommand.self, HoldersCommand.self]),
      CommandGroup(
        name: "Check and repair", subcommands: [VerifyCommand.self, RebuildCommand.self, RemoteCommand.self]),
      CommandGroup(name: "Move", subcommands: [ExportCommand.self, ImportCommand.self]),
      CommandGroup(name: "Sync", subcommands: [SyncCommand.self]),
      CommandGroup(
        name: "Test",
        subcommands: [ScenarioCommand.self, HistoryCommand.self, FoldCheckCommand.self, SimulateCommand.self]),
    ])

  static func main() async {
    let console = Console.makeSystem()
    let exit = await run(Array(CommandLine.arguments.dropFirst()), console: console)
    Self.exit(withError: exit == 0 ? nil : ExitCode(exit))
  }

  /// Parses arguments and runs the command that they name.
  ///
  /// - Returns: the exit code.
  static func run(_ arguments: [String], console: Console) async -> Int32 {
    let command: any ParsableCommand
    do {
      command = try parseAsRoot(arguments)
    } catch {
      return finish(console, report(usage: error, printsJSON: arguments.contains("--json"), console: console))
    }
    guard let command = command as? any ReplayCommand else {
      return await runOther(command, console: console)
    }
    return await run(command, console: console)
  }

  /// Runs a command, prints its error, and gives the exit code.
  static func run(_ command: any ReplayCommand, console: Console) async -> Int32 {
    do {
      let exit = try await command.run(console)
      try console.output.flush()
      return finish(console, exit?.rawValue ?? 0)
    } catch is OutputClosed {
      return 0
    } catch {
      // What was printed before the error stands before it.
      do { try console.output.flush() } catch { return 0 }
      return finish(console, report(ToolError(error), printsJSON: command.printsJSON, console: console))
    }
  }

  /// Runs a command that prints by itself: help, or one of another target.
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

  /// Prints help, or what is wrong with the arguments.
  private static func report(usage error: any Error, printsJSON: Bool, console: Console) -> Int32 {
    let code = exitCode(for: error).rawValue
    let message = fullMessage(for: error)
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
      // Nobody reads the errors: the exit code still tells.
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
