import ArgumentParser
import Foundation
import Stores

/// Runs the suite, and prints one table.
@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Compares Tributary with raw LMDB and with SQLite through GRDB, in turns, on this machine.")

  @Flag(help: "Run each case small: to see that all agree, not how fast they are.")
  var smoke = false

  @Option(help: "Run the cases whose titles contain this.")
  var only: String?

  @Option(help: "Let one alone take part, for a profiler: tributary, lmdb or sqlite.")
  var alone: String?

  @Option(help: "Rounds that count.")
  var rounds: Int?

  @Option(help: "A directory of a memory-backed file system.")
  var memory = "/dev/shm"

  @Option(help: "A directory of a disk.")
  var disk = FileManager.default.currentDirectoryPath + "/.build"

  func run() async throws {
    var sizes = smoke ? Sizes.smoke : .full
    if let rounds { sizes.rounds = rounds }
    var outcomes: [Outcome] = []
    for one in Case.all where only.map({ one.title.contains($0) }) ?? true {
      let place = Place(path: one.group == .durable ? disk : memory).inner()
      defer { place.remove() }
      var runner = Runner(sizes: sizes, place: place) { text in
        FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
      }
      if let alone { runner.participants = Set(Participant.Name.allCases.filter { "\($0)" == alone }) }
      outcomes.append(try await runner.run(one))
    }
    FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
    print(Page(outcomes: outcomes).markdown)
  }
}
