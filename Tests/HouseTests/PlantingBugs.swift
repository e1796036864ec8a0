import Foundation
import Testing

@testable import House

@Suite("Planting bugs")
struct PlantingBugs {
  private static let source = "one\ntwo\nthree\nfour\nfive\nsix\n"

  /// A patch that adds a line before `four`.
  private static func adding(_ line: String) -> String {
    """
    It does \(line).

    Found by 1: anything.

    --- a/Sources/A.swift
    +++ b/Sources/A.swift
    @@ -2,4 +2,5 @@
     two
     three
    +\(line)
     four
     five

    """
  }

  private static let replacing = """
    It replaces.

    Found by 2: anything.
    Worlds: assets

    --- a/Sources/A.swift
    +++ b/Sources/A.swift
    @@ -3,4 +3,3 @@
     three
    -four
    -five
    +4
     six

    """

  private func apply(_ patches: [String], to source: String = Self.source) throws -> String? {
    try Repository.withDirectory { directory in
      try Repository.write(["Sources/A.swift": source], below: directory)
      let mutants = try patches.enumerated().map { try Mutant(name: "bug\($0)", text: $1) }
      return try MutantTree(repository: directory, mutants).files["Sources/A.swift"]
    }
  }

  @Test("patches at one place all fit, and an equal change is made once")
  func together() throws {
    let found = try apply([Self.adding("x"), Self.adding("y"), Self.replacing, Self.adding("x")])
    #expect(found == "one\ntwo\nthree\nx\ny\n4\nsix\n")
  }

  @Test("a patch finds its lines at their new place")
  func moved() throws {
    let found = try apply([Self.adding("x")], to: "zero\nzero\n" + Self.source)
    #expect(found == "zero\nzero\none\ntwo\nthree\nx\nfour\nfive\nsix\n")
  }

  @Test("a patch that fits nowhere, or at two places, is reported with its name")
  func misfits() {
    #expect { try apply([Self.adding("x")], to: "one\ntwo\n") } throws: {
      "\($0)".contains("bug0.patch fits at 0 places")
    }
    #expect { try apply([Self.adding("x")], to: "\n" + Self.source + Self.source) } throws: {
      "\($0)".contains("bug0.patch fits at 2 places")
    }
    let other = Self.replacing.replacing("+4", with: "+four!")
    #expect { try apply([Self.replacing, other]) } throws: { "\($0)".contains("both replace line 4") }
    #expect { try Mutant(name: "none", text: "It does nothing.\n") } throws: {
      "\($0)".contains("changes nothing")
    }
  }

  @Test("a patch says what its bug does, and in which worlds")
  func head() throws {
    let mutant = try Mutant(name: "bug", text: Self.replacing)
    #expect(mutant.summary == "It replaces." && mutant.needsAssets && mutant.edits.count == 1)
    #expect(try !Mutant(name: "bug", text: Self.adding("x")).needsAssets)
  }

  @Test("the copy has all files, the mutants, their helpers and their list; a second one changes nothing")
  func copies() throws {
    try Repository.withDirectory { directory in
      try Repository.write(
        [
          "repository/Package.swift": "// package", "repository/Sources/A.swift": Self.source,
          "repository/Sources/B.swift": "b", "repository/Tests/Mutants/bug.patch": Self.adding("x"),
          "repository/Tests/Mutants/Helpers/Sources/C.swift": "c", "copy/Sources/Old.swift": "old",
          "repository/Examples/Sources/App/D.swift": "d",
        ], below: directory)
      func write() throws {
        try MutantTree.write(repository: "\(directory)/repository", to: "\(directory)/copy")
      }
      func text(_ path: String) -> String? {
        try? String(contentsOfFile: "\(directory)/copy/\(path)", encoding: .utf8)
      }
      func date(_ path: String) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: "\(directory)/copy/\(path)")[.modificationDate]
          as? Date
      }
      try write()
      #expect(text("Sources/A.swift")?.contains("x\nfour") ?? false)
      #expect(
        text("Examples/Sources/App/D.swift") == "d" && text("Sources/B.swift") == "b"
          && text("Sources/C.swift") == "c" && text("Sources/Old.swift") == nil)
      #expect(text("Sources/OperationFormat/PlantedBug.swift")?.contains("case bug\n") ?? false)
      let before = try ["Package.swift", "Sources/A.swift", "Sources/C.swift"].map(date)
      try write()
      #expect(try ["Package.swift", "Sources/A.swift", "Sources/C.swift"].map(date) == before)
    }
  }

  @Test("each mutant is in exactly one of the tenths")
  func parts() throws {
    let mutants = try (0..<23).map { try Mutant(name: "bug\($0)", text: Self.adding("x")) }
    for count in [1, 2, 3, 10, 100] {
      var names: [String] = []
      for part in 1...count { names += try MutantSearch.choose("\(part)/\(count)", of: mutants).map(\.name) }
      #expect(names.sorted() == mutants.map(\.name).sorted())
    }
    #expect(try MutantSearch.choose("all", of: mutants).count == 23)
    #expect(try MutantSearch.choose("bug2,bug7", of: mutants).map(\.name) == ["bug2", "bug7"])
  }

  @Test(
    "other parts are refused",
    arguments: ["0/10", "11/10", "1/0", "/", "1/", "a/b", "-1/10", "1/2/3", "", "bug"])
  func refuses(_ text: String) throws {
    let mutants = [try Mutant(name: "bug0", text: Self.adding("x"))]
    #expect(throws: HouseError.self) { try MutantSearch.choose(text, of: mutants) }
  }
}
