import ArgumentParser
import EventStore

/// A subcommand: what it prints goes to the console that it is given.
protocol ReplayCommand: AsyncParsableCommand {
  /// Whether the user asked for JSON.
  var printsJSON: Bool { get }

  /// What the user can do after an interruption.
  var hintIfInterrupted: String { get }

  /// What the words STORE and REMOTE of a hint are here.
  var places: HintPlaces { get }

  /// Runs the command.
  ///
  /// - Returns: the exit code: 0, or that of a problem which was printed as the command's result.
  func run(_ console: Console) async throws -> ToolError.Exit?
}

extension ReplayCommand {
  var hintIfInterrupted: String { "nothing was changed; run it again" }

  /// The hint of a command of which some is kept when it is interrupted.
  static var hintIfKept: String { "what was written before is kept; run it again" }

  var places: HintPlaces { HintPlaces() }

  /// Runs the command for the process's own user. ArgumentParser asks for it; ``Replay/run(_:console:)`` is
  /// what is used.
  func run() async throws {
    let console = Console.makeSystem()
    let exit = await Replay.run(self, console: console)
    if exit != 0 { throw ExitCode(exit) }
  }
}

/// A command about a store.
protocol StoreCommand: ReplayCommand {
  var store: StoreOptions { get }
}

extension StoreCommand {
  var printsJSON: Bool { store.json }

  var places: HintPlaces { HintPlaces(store: store.directory) }
}
