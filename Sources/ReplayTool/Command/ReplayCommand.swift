import ArgumentParser

/// A subcommand: what it prints goes to the console that it is given.
protocol ReplayCommand: AsyncParsableCommand {
  /// Whether the user asked for JSON.
  var printsJSON: Bool { get }

  /// Whether some of what it does is kept when it is interrupted.
  var keepsWork: Bool { get }

  /// Runs the command.
  ///
  /// - Returns: the exit code: 0, or that of a problem which was printed as the command's result.
  func run(_ console: Console) async throws -> ToolError.Exit?
}

extension ReplayCommand {
  var keepsWork: Bool { false }

  /// Runs the command for the process's own user. ArgumentParser asks for it; ``Replay/run(_:console:)`` is
  /// what is used.
  func run() async throws {
    let console = Console.makeSystem()
    let exit = await Replay.run(self, console: console)
    if exit != 0 { throw ExitCode(exit) }
  }
}
