import ArgumentParser

/// The `replay` command: shows, runs and explains the log of a store.
@main
struct Replay: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay", abstract: "Shows, runs and explains the log of a store.",
    subcommands: [FoldCheckCommand.self])
}
