import Foundation
import StoreTesting
import Testing

@Suite("The examples of the pages")
struct ExamplesOfThePages {
  private static let sources = [
    "ShoppingList.swift", "DictionaryRemote.swift", "FieldExamples.swift",
    "ModelExamples.swift", "QueryExamples.swift",
    "../GettingStarted/Errands.swift", "ZonesPage.swift", "FieldChoicePage.swift", "ListsPage.swift",
    "SyncStatusPage.swift", "ConflictsPage.swift", "AttachmentsPage.swift", "SchemaPage.swift",
    "UndoPage.swift", "PastPage.swift", "ProcessesPage.swift", "TroublePage.swift", "BackupPage.swift",
  ]
  private static let pages = [
    "StoreTesting.docc/TestingYourApp.md", "Replicator.docc/HandlingErrors.md", "EventStore.docc/Fields.md",
    "Models.docc/DefiningYourData.md", "Models.docc/Queries.md",
    "Tributary.docc/GettingStarted.md", "Tributary.docc/ZonesAndNames.md",
    "Tributary.docc/WhichKindOfField.md", "Tributary.docc/ShowingLists.md", "Tributary.docc/SyncStatus.md",
    "Tributary.docc/Conflicts.md", "Tributary.docc/Attachments.md", "Tributary.docc/SchemaChanges.md",
    "Tributary.docc/Undo.md", "Tributary.docc/ThePast.md", "Tributary.docc/AppAndExtension.md",
    "Tributary.docc/WhatToDoWhen.md", "Tributary.docc/BackupAndRestore.md",
  ]

  /// The passages of a source between the marks, each without its common indentation.
  private func passages(of file: String) throws -> [String] {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let text = try String(contentsOf: directory.appendingPathComponent(file), encoding: .utf8)
    return Self.blocks(text, from: "// page", to: "// page end")
  }

  /// The Swift code of a page.
  private func code(of page: String) throws -> [String] {
    Self.blocks(try Self.text(of: page), from: "```swift", to: "```")
  }

  static func text(of page: String) throws -> String {
    try source("\(page.prefix { $0 != "." })/\(page)")
  }

  private static func source(_ path: String) throws -> String {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    return try String(contentsOf: root.appendingPathComponent("Sources/\(path)"), encoding: .utf8)
  }

  /// The lines of a text between two marker lines.
  private static func blocks(_ text: String, from start: String, to end: String) -> [String] {
    var blocks: [String] = []
    var block: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let word = line.drop { $0 == " " }
      if word == end, let lines = block {
        let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        blocks.append(lines.map { $0.dropFirst(indent) }.joined(separator: "\n"))
        block = nil
      } else if word == start {
        block = []
      } else {
        block?.append(line)
      }
    }
    return blocks
  }

  @Test("are equal to the code that is compiled and run here")
  func areTheCode() throws {
    let passages = try Self.sources.flatMap(passages)
    let code = try Self.pages.flatMap(code)
    #expect(passages.count > 5)
    #expect(code.count == passages.count)
    for (shown, compiled) in zip(code, passages) { #expect(shown == compiled) }
  }

  @Test("in comments are compiled too, except one with the reader's own remote")
  func comments() throws {
    var root = URL(fileURLWithPath: #filePath)
    root.deleteLastPathComponent()
    let compiled = try String(
      contentsOf: root.appendingPathComponent("CommentExamples.swift"), encoding: .utf8)
    for _ in 0..<2 { root.deleteLastPathComponent() }
    var shown: [String: [String]] = [:]
    for target in [
      "EventStore", "OperationFormat", "Replicator", "Models", "LiveQueries", "Tributary", "StoreTesting",
    ] {
      let directory = root.appendingPathComponent("Sources/\(target)")
      let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
      for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
        let text = try String(contentsOf: file, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
          let rest = line.drop { $0 == " " }
          return rest.hasPrefix("/// ") ? rest.dropFirst(4) : rest.hasPrefix("///") ? "" : line
        }
        let blocks = Self.blocks(lines.joined(separator: "\n"), from: "```swift", to: "```")
        if !blocks.isEmpty { shown[file.lastPathComponent] = blocks }
      }
    }
    #expect(shown.removeValue(forKey: "RemoteLogConformance.swift") != nil)
    #expect(shown.count > 10)
    for (file, blocks) in shown.sorted(by: { $0.key < $1.key }) {
      #expect(Self.blocks(compiled, from: "// comment \(file)", to: "// comment end") == blocks, "\(file)")
    }
  }

  @Test("belong to a page with every fault, and every invariant with its number")
  func pageIsWhole() throws {
    let page = try Self.text(of: "StoreTesting.docc/Simulating.md")
    for fault in SimulationFault.allCases {
      #expect(page.contains("``SimulationFault/\(fault.rawValue)``"), "\(fault)")
    }
    for invariant in SimulationFailure.Invariant.allCases {
      let row = "| \(invariant.rawValue) | ``SimulationFailure/Invariant/\(invariant)`` |"
      #expect(page.contains(row), "\(invariant)")
    }
  }

  @Test("belong to a page with every step and assertion of a scenario, which errors refer to")
  func scenariosAreWhole() throws {
    let page = try Self.text(of: "StoreTesting.docc/ScenarioFiles.md")
    var count = 0
    for line in try Self.source("StoreTesting/Scenarios/ScenarioVerb.swift").split(separator: "\n") {
      guard line.hasPrefix("  case ") else { continue }
      for part in line.dropFirst("  case ".count).split(separator: ",") {
        // A case without a raw value is its own word.
        let quoted = part.split(separator: "\"")
        let word = quoted.count > 1 ? String(quoted[1]) : part.trimmingCharacters(in: .whitespaces)
        #expect(page.contains("`\(word)`"), "\(word)")
        count += 1
      }
    }
    #expect(count > 45)
    for yaml in Self.blocks(page, from: "```yaml", to: "```") {
      #expect(try !ScenarioFile.parse(yaml: yaml).scenarios.isEmpty)
    }
    let error = try #require(throws: ScenarioError.self) { try ScenarioFile.parse(yaml: "x: 1") }
    #expect(error.hint.contains("Sources/StoreTesting/StoreTesting.docc/ScenarioFiles.md"))
  }

  @Test("belong to a page with every error code, and every status of a zone")
  func errorsAreWhole() throws {
    let page = try Self.text(of: "Replicator.docc/HandlingErrors.md")
    var count = 0
    for file in ["EventStore/Common/StoreError.swift", "Replicator/Remote/RemoteError.swift"] {
      for line in try Self.source(file).split(separator: "\n") where line.contains("= Code(rawValue: ") {
        let code = line.split(separator: "\"")[1]
        #expect(page.contains("`\(code)`"), "\(code)")
        count += 1
      }
    }
    #expect(count > 40)
    let statuses = try Self.source("Replicator/Report/SyncReport.swift").split(
      separator: "public enum ZoneStatus")[1]
    for line in statuses.split(separator: "\n") where line.hasPrefix("  case ") {
      let name = line.dropFirst(7).prefix { $0.isLetter }
      #expect(page.contains("``ZoneStatus/\(name)"), "\(name)")
    }
  }
}
