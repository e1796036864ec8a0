import ArgumentParser
import EventStore

/// `replay backup`: copies a store that others may be using.
struct BackupCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copies a store, with its assets, while others use it.",
    discussion: """
      The copy is the store as it was at one commit. It is verified. An earlier copy of the same store in the directory is \
      replaced once the new one is whole, and its assets are kept. If the command is interrupted, run it again.

      Example: replay backup notes.store /mnt/backup/notes
      """)

  @OptionGroup var store: StoreOptions

  @Argument(
    help: ArgumentHelp(
      "The directory of the copy: an empty one, one that is made, or one with an earlier copy. Not one in the store itself.",
      valueName: "directory"))
  var target: String

  var hintIfInterrupted: String { CopiedStorePage.hintIfInterrupted }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console)
    defer { opened.close() }
    return try CopiedStorePage(console: console, json: store.json).copy(opened, to: target, verb: "copied")
  }
}

/// `replay restore`: puts a copy back as a store.
struct RestoreCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Makes a store from a copy that `replay backup` made.",
    discussion: """
      The store is verified. It takes a new identity when it is opened for writing. What it has from before it was copied \
      keeps its identity, and the next sync brings what the newer store had sent. The copy stays as it is. If the command is \
      interrupted, run it again.

      Example: replay restore /mnt/backup/notes notes.store
      """)

  @Argument(help: ArgumentHelp("The directory of the copy.", valueName: "copy"))
  var copy: String

  @Argument(
    help: ArgumentHelp(
      "The directory of the store: an empty one, or one that is made. Move a store that is there away first.",
      valueName: "store"))
  var target: String

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  var printsJSON: Bool { json }
  var places: HintPlaces { HintPlaces(store: copy) }
  var hintIfInterrupted: String { CopiedStorePage.hintIfInterrupted }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try StoreOptions.parse([copy]).openForReading(console, allowsNetworkFileSystem: true)
    defer { opened.close() }
    return try CopiedStorePage(console: console, json: json).copy(
      opened, to: target, verb: "restored",
      then: "it takes a new identity when it is first opened for writing")
  }
}

/// Copies a store, and says what was copied.
private struct CopiedStorePage {
  static let hintIfInterrupted = "nothing is lost; run it again, and it keeps the assets that were copied"

  let console: Console
  let json: Bool

  /// - Parameter next: what happens to the copy then; nil for nothing.
  func copy(
    _ store: LocalStore, to directory: String, verb: String, then next: String? = nil
  ) throws -> ToolError.Exit? {
    let progress = Progress(console)
    defer { progress.end() }
    let report = try store.backup(to: directory) { report in
      try progress.update("copying, bytes", done: report.dataBytes + report.assetBytes)
    }
    progress.end()
    if json {
      try console.output.line(
        .object([
          "directory": .string(directory), "dataBytes": .number(report.dataBytes),
          "assets": .number(report.assets),
          "assetBytes": .number(report.assetBytes), "assetsKept": .number(report.assetsKept),
          "assetsMissing": .number(report.assetsMissing), "assetsDamaged": .number(report.assetsDamaged),
        ]))
      return report.assetsDamaged > 0 ? .problem : nil
    }
    var parts = [Display.count(report.dataBytes, "byte")]
    if report.assets > 0 {
      parts.append("\(Display.count(report.assets, "asset")) of \(Display.count(report.assetBytes, "byte"))")
    }
    let kept = report.assetsKept > 0 ? "; \(Display.count(report.assetsKept, "asset")) were there" : ""
    let missing =
      report.assetsMissing > 0 ? "; \(Display.count(report.assetsMissing, "asset")) are not in the store" : ""
    try console.output.line(
      "\(verb) \(parts.joined(separator: " and ")) to \(Display.plain(directory))\(kept)\(missing); sound")
    if let next { try console.output.line(next) }
    guard report.assetsDamaged > 0 else { return nil }
    try console.errors.line(
      "error: \(Display.count(report.assetsDamaged, "asset")) not copied: their files in the store are damaged"
    )
    try console.errors.line(
      "hint: `replay verify` lists them; `replay asset download` brings them from a remote")
    return .problem
  }
}
