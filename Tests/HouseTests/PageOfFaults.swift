import Foundation
import Testing

@testable import House

/// A test that is renamed or removed must not stay on the page that says what it shows.
@Suite("The page of faults and what shows them")
struct PageOfFaults {
  private static let path = "Sources/StoreTesting/StoreTesting.docc/Faults.md"
  /// Each table's letter, and how many lines it has.
  private static let tables = [("R", 20), ("C", 16), ("K", 9), ("I", 9), ("B", 16), ("V", 8)]

  private func page() throws -> String {
    try String(contentsOfFile: "\(Repository.path)/\(Self.path)", encoding: .utf8)
  }

  /// What stands between single backticks.
  private func quoted() throws -> [String] {
    let parts = try page().split(separator: "`", omittingEmptySubsequences: false)
    return parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
  }

  @Test("has each line once, in order, and each says what shows it, or that nothing does")
  func lines() throws {
    var names: [String] = []
    for line in try page().split(separator: "\n") where line.hasPrefix("| ") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells[0] != "line" else { continue }
      names.append(cells[0])
      try #require(cells.count == 3, "\(line)")
      let isOpen = cells[2].hasPrefix("not shown: ") || cells[2].hasPrefix("not built: ")
      #expect(isOpen || cells[2].contains("`"), "\(line)")
      #expect(cells[2].hasPrefix("partly: ") == cells[2].contains("Missing: "), "\(line)")
    }
    var expected: [String] = []
    for (letter, count) in Self.tables { expected += (1...count).map { "\(letter)\($0)" } }
    #expect(names == expected)
  }

  @Test("names only tests that exist")
  func tests() throws {
    var known: Set<String> = []
    for file in try SourceTree(root: Repository.path, target: "Tests").files {
      for found in file.declarations where found.keyword == "func" && found.signature.hasPrefix("@Test") {
        known.insert((found.path + [found.name]).joined(separator: "."))
      }
    }
    // `Suite.function` in the explanation stands for any of them.
    let named = try quoted().filter {
      $0 != "Suite.function" && $0.contains(".") && $0.first?.isUppercase ?? false
    }
    #expect(named.count > 100)
    for name in named { #expect(known.contains(name), "\(name)") }
  }

  @Test("names only bugs that can be planted")
  func bugs() throws {
    let known = Set(try Mutant.all(in: Repository.path).map(\.name))
    // `bug:name` in the explanation stands for any of them.
    let named = try quoted().filter { $0.hasPrefix("bug:") && $0 != "bug:name" }
    #expect(named.count > 30)
    for name in named { #expect(known.contains(String(name.dropFirst(4))), "\(name)") }
  }
}
