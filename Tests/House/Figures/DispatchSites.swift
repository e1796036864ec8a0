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
  init(_ trees: [SourceTree], kinds: Kinds) {
    for tree in trees {
      for file in tree.files {
        let tokens = Token.all(in: file.code)
        let kinds = kinds.subtracting(Self.ownCases(of: file, kinds))
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

  /// The cases that a file's own enumerations declare: of a kind those of its operations. Deciding between
  /// them is no decision over kinds. An enumeration that has a case for each change is one over kinds, under
  /// another name.
  private static func ownCases(of file: SourceTree.File, _ kinds: Kinds) -> Set<String> {
    var cases: [[String]: Set<String>] = [:]
    for one in file.declarations
    where one.keyword == "case" && !Kinds.enumerations.contains(one.path.last ?? "") {
      cases[one.path, default: []].formUnion(Kinds.names(inCase: one.signature))
    }
    return cases.values.filter { !kinds.withPayload.isSubset(of: $0) }.reduce(into: []) { $0.formUnion($1) }
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
          if tokens[next].text == ".", kinds.all.contains(tokens[next + 1].text) {
            open[open.count - 1].kinds.insert(tokens[next + 1].text)
          }
          next += 1
        }
      case "default" where open.last?.depth == depth && tokens[index - 1].text != ",":
        // Behind a comma it is the argument of a dictionary's subscript.
        open[open.count - 1].hasDefault = true
      default: break
      }
    }
    return found
  }

  /// Lines that compare with a kind, or match it with `if case`.
  private static func comparisons(_ tokens: [Token], _ kinds: Kinds) -> [Int] {
    var lines: Set<Int> = []
    for index in tokens.indices.dropFirst(2).dropLast()
    where tokens[index - 1].text == "." && !isMember(tokens, index) {
      // `.map(let entries)` cannot be a kind that has no payload.
      let names = tokens[index + 1].text == "(" ? kinds.withPayload : kinds.all
      guard names.contains(tokens[index].text) else { continue }
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

  /// Whether a name is a property, such as `explanation.counter`: what is in front of the point is a value.
  private static func isMember(_ tokens: [Token], _ index: Int) -> Bool {
    guard !tokens[index - 1].isSpaced, let last = tokens[index - 2].text.unicodeScalars.last else {
      return false
    }
    let isName = last.properties.isAlphabetic || last.properties.numericType != nil || last == "_"
    let isTypeName = tokens[index - 2].text.first?.isUppercase ?? false
    return isName && !isTypeName || [")", "]", "?", "!"].contains(tokens[index - 2].text)
  }
}

/// The kinds of this repository: the cases of its enumerations of kinds.
struct Kinds {
  static let enumerations = ["OperationKind", "FieldKind", "FieldChange"]

  var all: Set<String> = []
  /// Those that a pattern may take apart.
  var withPayload: Set<String> = []

  init(_ trees: [SourceTree]) {
    for file in trees.flatMap(\.files) {
      for one in file.declarations
      where one.keyword == "case" && one.path.count == 1 && Self.enumerations.contains(one.path[0]) {
        let names = Self.names(inCase: one.signature)
        all.formUnion(names)
        if one.path[0] == "FieldChange" { withPayload.formUnion(names) }
      }
    }
    // It covers the kinds of later versions.
    all.remove("unknown")
  }

  func subtracting(_ names: Set<String>) -> Kinds {
    var rest = self
    rest.all.subtract(names)
    rest.withPayload.subtract(names)
    return rest
  }

  /// The names in `case a, b` and in `case a(label: Type, Type)`.
  static func names(inCase signature: String) -> [String] {
    var names: [String] = []
    var depth = 0
    var name = ""
    for character in signature.dropFirst("case ".count) + "," {
      switch character {
      case "(": depth += 1
      case ")": depth -= 1
      case "," where depth == 0:
        names.append(String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" }))
        name = ""
      case " " where name.isEmpty: break
      default: if depth == 0 { name.append(character) }
      }
    }
    return names
  }
}
