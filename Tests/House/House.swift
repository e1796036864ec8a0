import ArgumentParser
import Foundation

/// The checks that keep the sources easy to work with: `make house` and `make planted` run them.
@main
struct House: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "house", abstract: "Measures the sources, and plants known bugs in a copy of them.",
    subcommands: [ReportCommand.self, FaceCommand.self, PlantCommand.self, FindCommand.self])
}

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Prints figures of the sources: folders, kinds, types, access, lines.")

  @Option(help: "The repository.") var repository = "."
  @Flag(help: "Print JSON: one object.") var json = false
  @Flag(help: "List each arrow between folders with the types that make it, and each dispatch site.")
  var all = false

  func run() throws {
    let report = try HouseReport(repository: repository)
    print(json ? try report.json() : report.text(all: all))
  }
}

struct FaceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "face", abstract: "Writes the lists of public declarations that the tests compare.")

  @Option(help: "The repository.") var repository = "."

  func run() throws {
    for target in PublicFace.targets {
      let face = PublicFace(try SourceTree(root: "\(repository)/Sources", target: target))
      try face.text.write(
        toFile: "\(repository)/\(PublicFace.file(of: target))", atomically: true, encoding: .utf8)
      print("\(PublicFace.file(of: target)): \(face.lines.count) declarations")
    }
  }
}

struct PlantCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plant",
    abstract: "Writes the sources with all known bugs into a directory, to be built there.")

  @Option(help: "The repository.") var repository = "."
  @Argument(help: "Where to write them.") var directory: String

  func run() throws { try MutantTree.write(repository: repository, to: directory) }
}

struct FindCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "find",
    abstract: "Plants known bugs, one after the other, and sees that the simulator finds each.",
    discussion: "It ends with 1 if one was not found.")

  @Option(help: "The repository.") var repository = "."
  @Option(help: "The replay tool with all bugs in it.") var replay: String
  @Option(help: "The worlds that a bug must be found within: the last of them, from 1.") var seeds: UInt64 =
    10_000
  @Flag(help: "Print JSON: one object a line and bug.") var json = false
  @Argument(help: "all, names between commas, or 3/10 for every tenth from the third on.") var bugs = "all"

  func validate() throws {
    guard seeds > 0 else { throw ValidationError("--seeds is at least 1.") }
  }

  func run() throws {
    let mutants = try MutantSearch.choose(bugs, of: try Mutant.all(in: repository))
    var search = MutantSearch(replay: replay, seeds: 1...seeds)
    var found = 0
    for (index, mutant) in mutants.enumerated() {
      FileHandle.standardError.write(Data("\(index + 1) of \(mutants.count): \(mutant.name)\n".utf8))
      let find = try search.find(mutant)
      if find.kind != nil { found += 1 }
      print(json ? try find.json() : find.line)
      fflush(nil)
    }
    if !json { print("\(found) of \(mutants.count) bugs found") }
    if found < mutants.count { throw ExitCode(1) }
  }
}
