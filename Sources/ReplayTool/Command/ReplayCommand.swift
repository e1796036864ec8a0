import ArgumentParser
import EventStore

/// The store and the remote of a command, and the zone that a hint is about. Hints name commands with STORE, REMOTE
/// and an option's ZONE@OFFSET, as their help does.
struct HintPlaces: Sendable {
  var store: String?
  var remote: String?
  /// As options take it, or the incarnation of the zone's log.
  var zone: String?

  /// A hint whose commands can be run as they stand.
  func fill(_ hint: String) -> String {
    hint.replacing(#/\b(STORE|REMOTE)\b/#) { match in
      (match.output.1 == "STORE" ? store : remote)?.argument ?? String(match.output.0)
    }
    .replacing(#/(--[a-z-]+) ZONE(@[0-9]+)?/#) { match in
      guard let zone else { return String(match.output.0) }
      return Display.option(String(match.output.1), "\(zone)\(match.output.2 ?? "")")
    }
  }

  /// The same, for hints about a zone.
  func of(_ zone: ZoneID) -> HintPlaces { of(Display.zone(zone)) }

  /// The same, for hints about a zone, or one of its logs, as options take it.
  func of(_ zone: String) -> HintPlaces {
    var places = self
    places.zone = zone
    return places
  }
}

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
