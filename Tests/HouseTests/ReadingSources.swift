import Testing

@testable import House

@Suite("Reading sources")
struct ReadingSources {
  @Test("comments and texts are blanked, and lines keep their place")
  func blanks() {
    let source = """
      let a = "x // \\(b("y")) z" // Gone
      /* gone /* nested */ gone */ let c = #"raw " \\(d)"#
      let e = \"\"\"
        struct F {
        \"\"\"
      """
    let code = String(decoding: SourceText.code(of: source), as: UTF8.self)
    #expect(code.split(separator: "\n", omittingEmptySubsequences: false).count == 5)
    #expect(!code.contains("x") && !code.contains("y") && !code.contains("Gone") && !code.contains("gone"))
    #expect(!code.contains("raw") && !code.contains("struct"))
    #expect(code.contains("let a =") && code.contains("let c =") && code.contains("let e ="))
  }

  @Test("declarations have their access, path and lines")
  func declarations() {
    let found = Declaration.all(
      in: SourceText.code(
        of: """
          public struct A: Sendable {
            public var b: Int { 1 }
            public private(set) var c = 0
            package let d: Int
            func e() { struct Inner {} }
            public enum F { case one, two }
          }
          extension A.F {
            @inlinable
            public static func g(
              _ h: Int
            ) -> Int { h }
          }
          public protocol P {
            func q()
            associatedtype R
          }
          package final class S {
            class func t() {}
          }
          """))
    let names = found.map { ($0.path + [$0.name]).joined(separator: ".") }
    #expect(
      names == [
        "A", "A.b", "A.c", "A.d", "A.e", "A.F", "A.F.one", "A.F", "A.F.g", "P", "P.q", "P.R", "S", "S.t",
      ])
    let access = found.map(\.effectiveAccess)
    #expect(
      access == [
        "public", "public", "public", "package", "internal", "public", "public", "internal", "public",
        "public",
        "public", "public", "package", "internal",
      ])
    #expect(found[0].lines == 0...6 && found[8].lines == 8...11)
    #expect(found[8].signature == "@inlinable public static func g( _ h: Int ) -> Int")
  }

  @Test("arrows and cycles of folders are found")
  func graph() throws {
    try Repository.withDirectory { directory in
      try Repository.write(
        [
          "T/Low/A.swift": "struct A {}", "T/Middle/B.swift": "struct B { var a: A; var c: C? }",
          "T/High/C.swift": "struct C { var b: B } // A", "T/High/D.swift": "struct D { let s = \"A\" }",
        ], below: directory)
      let graph = FolderGraph(try SourceTree(root: directory, target: "T"))
      #expect(graph.names == ["High", "Low", "Middle"])
      #expect(graph.folders.map { "\($0.from) \($0.to)" } == ["High Middle", "Middle High", "Middle Low"])
      #expect(graph.mutualPairs.count == 1 && graph.largestFolderCycle == ["High", "Middle"])
      #expect(graph.largestFileCycle == ["High/C.swift", "Middle/B.swift"])
      #expect(graph.arrowsBack(in: ["Low", "Middle", "High"]).map(\.from) == ["Middle"])
      #expect(graph.arrowsBack(in: ["High", "Middle", "Low"]).count == 2)
    }
  }

  @Test("places that distinguish kinds are counted, and those among them that the compiler reports")
  func sites() throws {
    try Repository.withDirectory { directory in
      try Repository.write(
        [
          "T/FieldKind.swift": "enum FieldKind { case counter, text }",
          "T/FieldChange.swift": "enum FieldChange { case add(Value), insertText(String, after: Unit?) }",
          // What decides between a kind's own operations, reads a property or another enumeration's payload
          // is none.
          "T/TextKind.swift": """
          enum TextKind { enum Operation { case insertText } }
          func edits(_ change: FieldChange) -> Bool { if case .insertText = change { true } else { false } }
          func shows(_ page: Page) -> Bool { page.counter != nil }
          func entries(_ value: Value) { if case .text(let text) = value { use(text) } }
          """,
          "T/Word.swift": """
          enum Word { case add, insertText }
          func word(_ change: FieldChange) -> Word { switch change { case .add: one(); case .insertText: two() } }
          """,
          "T/A.swift": """
          func all(_ kind: FieldKind) { switch kind { case .counter: one(); case .text: two() } }
          func some(_ kind: FieldKind) {
            switch kind {
            case .counter, .text: one()
            default: two()
            }
            if kind == .text { one() }
            if case .counter = kind { one() }
            call(.text)
          }
          """,
        ], below: directory)
      let trees = [try SourceTree(root: directory, target: "T")]
      let kinds = Kinds(trees)
      #expect(kinds.all == ["counter", "text", "add", "insertText"])
      #expect(kinds.withPayload == ["add", "insertText"])
      let sites = DispatchSites(trees, kinds: kinds).sites
      #expect(
        sites.map { "\($0.line) \($0.isEnforced)" } == [
          "1 true", "3 false", "7 false", "8 false", "2 true",
        ])
    }
  }

  @Test("a type is as large as all its extensions")
  func sizes() throws {
    try Repository.withDirectory { directory in
      try Repository.write(
        ["T/A.swift": "struct A {\n  func b() {}\n}", "T/U/A+C.swift": "extension A {\n  init() {}\n\n}"],
        below: directory)
      let sizes = TypeSizes([try SourceTree(root: directory, target: "T")]).sizes
      #expect(
        sizes.map { "\($0.name) \($0.lines) \($0.files.count) \($0.folders.count) \($0.functions)" } == [
          "A 7 2 2 2"
        ])
    }
  }
}
