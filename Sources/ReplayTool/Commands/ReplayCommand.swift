import ArgumentParser
import EventStore

/// A subcommand. It prints to a console that it is given.
protocol ReplayCommand: AsyncParsableCommand {
  /// Whether the user asked for JSON.
  var printsJSON: Bool { get }

  /// What the user can do after an interruption.
  var hintIfInterrupted: String { get }

  /// The words that replace STORE and REMOTE in a hint.
  var places: HintPlaces { get }

  /// Runs the command.
  ///
  /// - Returns: the exit code: nil for 0, or that of a problem which the command printed as its result.
  func run(_ console: Console) async throws -> ToolError.Exit?
}

extension ReplayCommand {
  var hintIfInterrupted: String { "nothing was changed; run it again" }

  /// The hint for a command that keeps some of its work when it is interrupted.
  static var hintIfKept: String { "what was written before is kept; run it again" }

  var places: HintPlaces { HintPlaces() }

  /// Runs the command in the process of its user. ArgumentParser requires it; `replay` itself uses
  /// ``Replay/run(_:console:)``.
  func run() async throws {
    let console = Console.makeSystem()
    let exit = await Replay.run(self, console: console)
    if exit != 0 { throw ExitCode(exit) }
  }
}
