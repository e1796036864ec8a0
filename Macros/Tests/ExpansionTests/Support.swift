import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

@testable import RecordMacroPlugin

/// A source with its macros expanded, and what they said.
struct Expansion {
  /// Without empty lines: a removed attribute may leave one.
  let source: String
  let problems: [FoundProblem]

  init(of source: String) {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(
      sourceFiles: [
        file: BasicMacroExpansionContext.KnownSourceFile(moduleName: "App", fullFilePath: "App.swift")
      ])
    let marker = MacroSpec(type: MarkerMacro.self)
    let expanded = file.expand(
      macroSpecs: [
        "Record": MacroSpec(type: RecordMacro.self, conformances: ["RecordStruct", "Codable"]),
        "Named": marker,
        "Formerly": marker, "Indexed": marker, "Reference": marker, "Merging": marker,
        "MergingMembers": marker,
      ],
      contextGenerator: {
        BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
      }, indentationWidth: .spaces(2))
    self.source = expanded.description.withoutEmptyLines
    problems = context.diagnostics.map { diagnostic in
      let place = context.location(
        for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "App.swift")
      return FoundProblem(
        line: place.line, column: place.column, message: diagnostic.message)
    }
  }
}

struct FoundProblem: Hashable {
  let line: Int
  let column: Int
  let message: String
}

extension String {
  var withoutEmptyLines: String {
    split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }.joined(separator: "\n")
  }
}
