import ArgumentParser
import Dispatch
import Foundation
import Stores
import Synchronization

/// Runs the suite, and prints one table.
@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Compares Tributary with raw LMDB and with SQLite through GRDB on this machine.",
    discussion: "It ends with 1 if the participants do not have the same data at the end.")

  @Flag(help: "Run each case small: checks that all agree, not how fast they are.")
  var smoke = false

  @Option(help: "Run the cases whose titles contain this.")
  var only: String?

  @Option(help: "The number of rounds that count.")
  var rounds: Int?

  @Option(help: "A directory on a memory-backed file system.")
  var memory = "/dev/shm"

  @Option(help: "A directory on a disk.")
  var disk = FileManager.default.currentDirectoryPath + "/.build"

  @Flag(help: "Print JSON: one object.")
  var json = false

  @Option(help: "Also draw the ratios into this file (SVG).")
  var plot: String?

  @Flag(help: "List the cases.")
  var list = false

  @Option(help: .hidden)
  var alone: String?

  func validate() throws {
    guard rounds ?? 1 >= 1 else { throw ValidationError("--rounds must be at least 1.") }
    guard alone.map({ name in Participant.Name.allCases.contains { "\($0)" == name } }) ?? true else {
      throw ValidationError("--alone must be one of \(Participant.Name.allCases).")
    }
  }

  func run() async throws {
    let cases = Case.all.filter { one in only.map { one.title.contains($0) } ?? true }
    guard !cases.isEmpty else {
      throw ValidationError("No case's title contains “\(only ?? "")”: see --list.")
    }
    if list { return print(cases.map(\.title).joined(separator: "\n")) }
    var sizes = smoke ? Sizes.smoke : .full
    if let rounds { sizes.rounds = rounds }
    // Where a store folds its past.
    setenv("TMPDIR", memory, 1)
    let machine = try Machine(memory: memory, disk: disk)
    let interrupt = Interrupt()
    var outcomes: [Outcome] = []
    for (number, one) in cases.enumerated() {
      let place = Place(path: one.medium == .disk ? disk : memory).inner()
      defer { place.remove() }
      var runner = Runner(sizes: sizes, place: place) { [sizes] round in
        if interrupt.hasCome { throw ExitCode(130) }
        Self.say("\(number + 1)/\(cases.count) \(one.title): round \(round) of \(sizes.rounds)")
      }
      if let alone { runner.participants = Set(Participant.Name.allCases.filter { "\($0)" == alone }) }
      Self.say("\(number + 1)/\(cases.count) \(one.title)")
      outcomes += try await runner.run(one)
    }
    Self.say("")
    let page = Page(machine: machine, outcomes: outcomes)
    if let plot { try Data(Plot(page: page).svg.utf8).write(to: URL(fileURLWithPath: plot)) }
    print(json ? try page.json : page.markdown)
  }

  /// Shows the progress, on a terminal.
  private static func say(_ text: String) {
    guard isatty(2) != 0 else { return }
    FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
  }
}

/// Whether the user interrupted the program. It then ends after the round, and leaves no stores behind.
private final class Interrupt {
  private let flag = Flag()
  private let source: any DispatchSourceSignal

  init() {
    signal(SIGINT, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler { [flag] in flag.value.withLock { $0 = true } }
    source.activate()
  }

  var hasCome: Bool { flag.value.withLock { $0 } }

  private final class Flag: Sendable {
    let value = Mutex(false)
  }
}
