/// A declaration in a file: its keyword, name, access and lines.
struct Declaration {
  /// The types that can have members.
  static let containers: Set<String> = ["struct", "class", "enum", "actor", "protocol", "extension"]
  private static let keywords: Set<String> = containers.union([
    "func", "var", "let", "init", "subscript", "case", "typealias", "associatedtype",
  ])
  private static let accesses: Set<String> = [
    "public", "open", "package", "internal", "fileprivate", "private",
  ]
  private static let modifiers: Set<String> = [
    "static", "final", "mutating", "nonmutating", "borrowing", "consuming", "indirect", "override",
    "convenience",
    "required", "nonisolated", "lazy", "weak", "unowned", "class", "prefix", "postfix", "infix", "isolated",
  ]

  var keyword: String
  var name: String
  /// As written; nil if there is none.
  var access: String?
  /// The names of the enclosing types, outermost first. An extension counts as its type.
  var path: [String]
  /// The text up to the body or value, in one line.
  var signature: String
  /// From 0.
  var lines: ClosedRange<Int>
  /// Whether an extension or a type is marked `public` for all its members, or a protocol or enumeration is
  /// public.
  var inheritedAccess: String?

  var isType: Bool { Self.containers.contains(keyword) && keyword != "extension" }
  var effectiveAccess: String { access ?? inheritedAccess ?? "internal" }

  /// All declarations in code, except those in bodies of functions and accessors.
  static func all(in code: [UInt8]) -> [Declaration] {
    var scanner = Scanner(code)
    return scanner.scan()
  }

  /// Walks through tokens, and keeps a stack of the enclosing braces.
  private struct Scanner {
    struct Scope {
      /// The index of the declaration that has this body; nil for other braces.
      var declaration: Int?
      /// Whether the declarations in it are members of a type, or at the top level of the file.
      var holdsMembers: Bool
    }

    let tokens: [Token]
    var found: [Declaration] = []
    var scopes: [Scope] = [Scope(declaration: nil, holdsMembers: true)]

    init(_ code: [UInt8]) { tokens = Token.all(in: code) }

    mutating func scan() -> [Declaration] {
      var index = 0
      while index < tokens.count {
        let token = tokens[index]
        switch token.text {
        case "{":
          scopes.append(Scope(declaration: nil, holdsMembers: false))
          index += 1
        case "}":
          if scopes.count > 1, let closed = scopes.removeLast().declaration {
            found[closed].lines = found[closed].lines.lowerBound...token.line
          }
          index += 1
        default: index = scopes.last!.holdsMembers ? declaration(at: index) : index + 1
        }
      }
      return found
    }

    /// Reads a declaration that starts at a token, and returns the index after its head.
    private mutating func declaration(at start: Int) -> Int {
      var index = start
      var access: String?
      var isSetterOnly = false
      while index < tokens.count {
        let text = tokens[index].text
        if text == "@" {
          index = afterParentheses(index + 2)
        } else if Declaration.accesses.contains(text) {
          let next = afterParentheses(index + 1)
          isSetterOnly = next > index + 1
          if !isSetterOnly { access = text }
          index = next
        } else if Declaration.modifiers.contains(text), !isTypeKeyword(at: index) {
          index = afterParentheses(index + 1)
        } else {
          break
        }
      }
      guard index < tokens.count, Declaration.keywords.contains(tokens[index].text) else {
        return max(index, start + 1)
      }
      return head(from: start, keyword: index, access)
    }

    /// `class` is a type if a name follows, and not another keyword.
    private func isTypeKeyword(at index: Int) -> Bool {
      guard tokens[index].text == "class", index + 1 < tokens.count else { return false }
      let next = tokens[index + 1].text
      return !Declaration.keywords.contains(next) && !Declaration.modifiers.contains(next)
    }

    private func afterParentheses(_ index: Int) -> Int {
      guard index < tokens.count, tokens[index].text == "(", !tokens[index].isSpaced else { return index }
      var depth = 0
      var index = index
      while index < tokens.count {
        if tokens[index].text == "(" { depth += 1 }
        if tokens[index].text == ")" {
          depth -= 1
          if depth == 0 { return index + 1 }
        }
        index += 1
      }
      return index
    }

    /// Reads up to the body, the value, or the line where the head ends.
    private mutating func head(from start: Int, keyword: Int, _ access: String?) -> Int {
      let word = tokens[keyword].text
      let isType = Declaration.containers.contains(word)
      var name = keyword + 1 < tokens.count ? tokens[keyword + 1].text : ""
      if word == "init" || word == "subscript" { name = word }
      var index = keyword + 1
      var depth = 0
      var hasBody = false
      loop: while index < tokens.count {
        let token = tokens[index]
        switch token.text {
        case "(", "[": depth += 1
        case ")", "]": depth -= 1
        case "{" where depth == 0:
          hasBody = true
          break loop
        case "}" where depth == 0: break loop
        case "=" where depth == 0 && !isType: break loop
        default:
          if depth == 0, token.line > tokens[index - 1].line, endsHead(before: index, word) { break loop }
        }
        if depth < 0 { break }
        index += 1
      }
      if isType, word != "extension" || name != "" {
        // `extension A.B` is one of `B` in `A`.
        var next = keyword + 2
        while next + 1 < index, tokens[next].text == "." {
          name += "." + tokens[next + 1].text
          next += 2
        }
      }
      let path = scopes.compactMap { $0.declaration.map { found[$0].name } }
      let holder = scopes.last!.declaration.map { found[$0] }
      var inherited: String?
      if let holder {
        let isOpenHolder = holder.keyword == "extension" || holder.keyword == "protocol" || word == "case"
        if isOpenHolder { inherited = holder.access ?? holder.inheritedAccess }
      }
      found.append(
        Declaration(
          keyword: word, name: name, access: access, path: path,
          signature: Token.joined(tokens[start..<index]),
          lines: tokens[start].line...tokens[max(start, index - 1)].line,
          inheritedAccess: inherited))
      guard hasBody else {
        // A value may contain braces; the outer loop handles them.
        return max(index, keyword + 1)
      }
      scopes.append(Scope(declaration: found.count - 1, holdsMembers: isType))
      return index + 1
    }

    /// Whether the first token of a line starts something new.
    private func endsHead(before index: Int, _ word: String) -> Bool {
      let text = tokens[index].text
      if ["->", "where", "throws", "async", ":", ",", "==", "&", ">", "rethrows", "="].contains(text) {
        return false
      }
      return ![",", "(", ":", "->", "where", "&"].contains(tokens[index - 1].text)
    }
  }
}

/// A word, number or sign of code.
struct Token {
  var text: String
  var line: Int
  /// Whether white space precedes it.
  var isSpaced: Bool

  static func all(in code: [UInt8]) -> [Token] {
    var tokens: [Token] = []
    var line = 0
    var index = 0
    var isSpaced = true
    while index < code.count {
      let byte = code[index]
      if byte == UInt8(ascii: "\n") { line += 1 }
      if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t") {
        isSpaced = true
        index += 1
        continue
      }
      var end = index + 1
      if isWord(byte) {
        while end < code.count, isWord(code[end]) { end += 1 }
      } else if byte == UInt8(ascii: "-"), end < code.count, code[end] == UInt8(ascii: ">") {
        end += 1
      } else if byte == UInt8(ascii: "="), end < code.count, code[end] == UInt8(ascii: "=") {
        end += 1
      }
      tokens.append(
        Token(text: String(decoding: code[index..<end], as: UTF8.self), line: line, isSpaced: isSpaced))
      isSpaced = false
      index = end
    }
    return tokens
  }

  static func joined(_ tokens: ArraySlice<Token>) -> String {
    var text = ""
    for token in tokens {
      if token.isSpaced, !text.isEmpty { text += " " }
      text += token.text
    }
    return text
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || byte == UInt8(ascii: "`") || byte >= 0x80 || isDigitOrLetter(byte)
  }

  private static func isDigitOrLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}
