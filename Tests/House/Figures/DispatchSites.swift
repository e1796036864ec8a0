import Foundation

/// The places that distinguish kinds of fields or operations.
struct DispatchSites {
  /// A `switch` with two or more cases that are kinds, or a comparison with a kind.
  struct Site {
    var target: String
    var file: String
    /// From 1.
    var line: Int
    /// Whether the compiler reports the place when a kind is added.
    var isEnforced: Bool
  }

  var sites: [Site] = []

  /// - Parameter kinds: the names of cases, such as `counter`.
  init(_ trees: [SourceTree], kinds: Set<String>) {
    for tree in trees {
      for file in tree.files {
        let tokens = Token.all(in: file.code)
        sites += Self.switches(tokens, kinds).map {
          Site(target: tree.target, file: file.path, line: $0.line + 1, isEnforced: $0.isEnforced)
        }
        sites += Self.comparisons(tokens, kinds).map {
          Site(target: tree.target, file: file.path, line: $0 + 1, isEnforced: false)
        }
      }
    }
  }

  private struct OpenSwitch {
    var line: Int
    var depth: Int
    var kinds: Set<String> = []
    var hasDefault = false
  }

  private static func switches(_ tokens: [Token], _ kinds: Set<String>) -> [(line: Int, isEnforced: Bool)] {
    var found: [(line: Int, isEnforced: Bool)] = []
    var open: [OpenSwitch] = []
    var waiting: Int?
    var depth = 0
    for (index, token) in tokens.enumerated() {
      switch token.text {
      case "switch": waiting = token.line
      case "{":
        depth += 1
        if let line = waiting { open.append(OpenSwitch(line: line, depth: depth)) }
        waiting = nil
      case "}":
        if let last = open.last, last.depth == depth {
          open.removeLast()
          if last.kinds.count > 1 { found.append((last.line, !last.hasDefault)) }
        }
        depth -= 1
      case "case" where open.last?.depth == depth:
        var next = index + 1
        while next < tokens.count, tokens[next].text != ":", tokens[next].text != "{" {
          if tokens[next].text == ".", kinds.contains(tokens[next + 1].text) {
            open[open.count - 1].kinds.insert(tokens[next + 1].text)
          }
          next += 1
        }
      case "default" where open.last?.depth == depth: open[open.count - 1].hasDefault = true
      default: break
      }
    }
    return found
  }

  /// Lines that compare with a kind, or match it with `if case`.
  private static func comparisons(_ tokens: [Token], _ kinds: Set<String>) -> [Int] {
    var lines: Set<Int> = []
    for index in tokens.indices.dropFirst(2).dropLast()
    where kinds.contains(tokens[index].text) && tokens[index - 1].text == "." {
      let before = tokens[index - 2].text
      let twoBefore = index >= 3 ? tokens[index - 3].text : ""
      let after = tokens[index + 1].text
      let afterNext = index + 2 < tokens.count ? tokens[index + 2].text : ""
      let isCompared =
        before == "==" || (before == "=" && twoBefore == "!") || after == "=="
        || (after == "!" && afterNext == "=")
      let isCase = before == "case" && ["if", "guard", ",", "while"].contains(twoBefore)
      let isRange = (before == "." && twoBefore == ".") || (after == "." && afterNext == ".")
      if isCompared || isCase || isRange { lines.insert(tokens[index].line) }
    }
    return lines.sorted()
  }

  /// The kinds of this repository: the cases of its enumerations of kinds.
  static func kinds(_ trees: [SourceTree]) -> Set<String> {
    let enumerations = ["OperationKind", "FieldKind", "FieldChange"]
    var names: Set<String> = []
    for file in trees.flatMap(\.files) {
      for one in file.declarations where one.path.count == 1 && enumerations.contains(one.path[0]) {
        // `case a, b` and `static let a = …` of a struct of raw values.
        if one.keyword == "case" {
          names.formUnion(one.signature.dropFirst(5).split(separator: ",").map { Self.name(String($0)) })
        } else if one.keyword == "let", one.signature.contains("static") {
          names.insert(one.name)
        }
      }
    }
    return names.filter { $0.first?.isLowercase ?? false }
  }

  private static func name(_ text: String) -> String {
    String(text.trimmingCharacters(in: .whitespaces).prefix { $0.isLetter || $0.isNumber || $0 == "_" })
  }
}
