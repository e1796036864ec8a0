import Foundation
import StoreTesting
import Testing

@Suite("The examples of the pages")
struct ExamplesOfThePages {
  private static let sources = ["ShoppingList.swift", "DictionaryRemote.swift"]
  private static let pages = ["TestingYourApp.md"]

  /// The passages of a source between the marks, each without what all of its lines are indented by.
  private func passages(of file: String) throws -> [String] {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let text = try String(contentsOf: directory.appendingPathComponent(file), encoding: .utf8)
    return Self.blocks(text, from: "// page", to: "// page end")
  }

  /// The Swift code of a page.
  private func code(of page: String) throws -> [String] {
    Self.blocks(try text(of: page), from: "```swift", to: "```")
  }

  private func text(of page: String) throws -> String {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let path = "Sources/StoreTesting/StoreTesting.docc/\(page)"
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The lines between a line and the next one of another text.
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

  @Test("are the code that is compiled and run here")
  func areTheCode() throws {
    let passages = try Self.sources.flatMap(passages)
    let code = try Self.pages.flatMap(code)
    #expect(passages.count > 5)
    #expect(code.count == passages.count)
    for (shown, compiled) in zip(code, passages) { #expect(shown == compiled) }
  }

  @Test("of comments are compiled too, all but one, whose remote is the reader's")
  func comments() throws {
    var root = URL(fileURLWithPath: #filePath)
    root.deleteLastPathComponent()
    let compiled = try String(
      contentsOf: root.appendingPathComponent("CommentExamples.swift"), encoding: .utf8)
    for _ in 0..<2 { root.deleteLastPathComponent() }
    var shown: [String: [String]] = [:]
    for target in ["EventStore", "OperationFormat", "Replicator", "StoreTesting"] {
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

  @Test("stand beside a page that names every fault, and every invariant with its number")
  func pageIsWhole() throws {
    let page = try text(of: "Simulating.md")
    for fault in SimulationFault.allCases {
      #expect(page.contains("``SimulationFault/\(fault.rawValue)``"), "\(fault)")
    }
    for invariant in SimulationFailure.Invariant.allCases {
      let row = "| \(invariant.rawValue) | ``SimulationFailure/Invariant/\(invariant)`` |"
      #expect(page.contains(row), "\(invariant)")
    }
  }
}
