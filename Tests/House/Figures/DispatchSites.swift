import Foundation

/// The places that decide by kind of field or of operation.
struct DispatchSites {
  /// A `switch` with two or more cases that are kinds, or a comparison with a kind.
  struct Site {
    var target: String
    var file: String
    /// From 1.
    var line: Int
    /// Whether the compiler names the place when a kind is added.
    var isEnforced: Bool
  }

  var sites: [Site] = []

  /// - Parameter kinds: the names of cases, such as `counter`, and whether the case has a payload.
  init(_ trees: [SourceTree], kinds: Kinds) {
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

  /// The names of kinds. A pattern such as `.map(let values)` matches no kind if no kind of that name has a payload.
  struct Kinds: Equatable {
    var names: Set<String> = []
    var withPayload: Set<String> = []

    /// Whether a pattern starts at a token that names a kind.
    func match(_ tokens: [Token], at index: Int) -> Bool {
      guard names.contains(tokens[index].text) else { return false }
      let next = index + 1 < tokens.count ? tokens[index + 1] : nil
      let hasPayload = next.map { $0.text == "(" && !$0.isSpaced } ?? false
      return !hasPayload || withPayload.contains(tokens[index].text)
    }
  }

  private struct OpenSwitch {
    var line: Int
    var depth: Int
    var kinds: Set<String> = []
    var hasDefault = false
  }

  private static func switches(_ tokens: [Token], _ kinds: Kinds) -> [(line: Int, isEnforced: Bool)] {
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
          if tokens[next].text == ".", kinds.match(tokens, at: next + 1) {
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

  /// Lines that compare with a kind, or take it apart by `if case`.
  private static func comparisons(_ tokens: [Token], _ kinds: Kinds) -> [Int] {
    var lines: Set<Int> = []
    for index in tokens.indices.dropFirst(2).dropLast()
    where tokens[index - 1].text == "." && kinds.match(tokens, at: index) {
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
  static func kinds(_ trees: [SourceTree]) -> Kinds {
    let enumerations = ["OperationKind", "FieldKind", "FieldChange", "LogOperation"]
    var kinds = Kinds()
    for file in trees.flatMap(\.files) {
      for one in file.declarations where one.path.count == 1 && enumerations.contains(one.path[0]) {
        // `case a, b` and `static let a = …` of a struct of raw values.
        if one.keyword == "case" {
          for part in Self.parts(of: one.signature.dropFirst(5)) {
            let name = Self.name(part)
            guard name.first?.isLowercase ?? false else { continue }
            kinds.names.insert(name)
            if part.contains("\(name)(") { kinds.withPayload.insert(name) }
          }
        } else if one.keyword == "let", one.signature.contains("static") {
          kinds.names.insert(one.name)
        }
      }
    }
    return kinds
  }

  /// Splits at commas outside of parentheses.
  private static func parts(of cases: some StringProtocol) -> [String] {
    var parts = [""]
    var depth = 0
    for character in cases {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
    }
    return parts
  }

  private static func name(_ text: String) -> String {
    String(text.trimmingCharacters(in: .whitespaces).prefix { $0.isLetter || $0.isNumber || $0 == "_" })
  }
}
