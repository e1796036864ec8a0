import EventStore

/// What is wrong with the text of a query, and where.
struct QueryTextError: Error {
  /// In characters, from 1.
  let column: Int
  let expected: String
  let found: String
}

/// The parts of a query's text.
struct QueryTokens {
  private enum Token: Equatable {
    /// A name, or a word of the form.
    case word(String)
    /// A name in back quotes.
    case name(String)
    case text(String)
    /// Begins with a digit or a minus: a number, a date or a UUID.
    case number(String)
    /// A zone or a record: what follows `@`.
    case record(String)
    case symbol(String)
  }

  private var tokens: [(token: Token, column: Int)] = []
  private var next = 0
  private let end: Int

  init(_ text: String) throws(QueryTextError) {
    let characters = Array(text)
    end = characters.count + 1
    var place = 0
    func run(_ isPart: (Character) -> Bool) -> String {
      let start = place
      while place < characters.count, isPart(characters[place]) { place += 1 }
      return String(characters[start..<place])
    }
    while place < characters.count {
      let (character, column) = (characters[place], place + 1)
      if character.isWhitespace {
        place += 1
        continue
      }
      let token: Token
      if character == "\"" || character == "`" {
        token = try Self.quoted(characters, &place)
      } else if character == "@" {
        place += 1
        token = .record(run { !$0.isWhitespace && !",()".contains($0) })
      } else if character.isNumber || character == "-" {
        place += 1
        token = .number(String(character) + run { $0.isLetter || $0.isNumber || "-+:.".contains($0) })
      } else if character.isLetter || character == "_" {
        token = .word(run { $0.isLetter || $0.isNumber || "_-".contains($0) })
      } else {
        let two = String(characters[place..<min(place + 2, characters.count)])
        token = .symbol(["!=", "<=", ">=", "=="].contains(two) ? two : String(character))
        place += token == .symbol(two) ? two.count : 1
      }
      tokens.append((token, column))
    }
  }

  /// A text in quotes, in which `\` stands before a quote or itself, and `\n` and `\t` are those.
  private static func quoted(_ characters: [Character], _ place: inout Int) throws(QueryTextError) -> Token {
    let (quote, start) = (characters[place], place)
    var text = ""
    place += 1
    while place < characters.count, characters[place] != quote {
      if characters[place] == "\\", place + 1 < characters.count {
        place += 1
        text.append(characters[place] == "n" ? "\n" : characters[place] == "t" ? "\t" : characters[place])
      } else {
        text.append(characters[place])
      }
      place += 1
    }
    guard place < characters.count else {
      throw QueryTextError(column: start + 1, expected: "a text that ends with \(quote)", found: "no end")
    }
    place += 1
    return quote == "`" ? .name(text) : .text(text)
  }

  var isAtEnd: Bool { next >= tokens.count }

  /// The error that something else is here.
  func expected(_ what: String) -> QueryTextError {
    guard next < tokens.count else { return QueryTextError(column: end, expected: what, found: "the end") }
    let found =
      switch tokens[next].token {
      case .word(let text), .number(let text), .symbol(let text): text
      case .name(let text): "`\(text)`"
      case .text(let text): "\"\(text)\""
      case .record(let text): "@\(text)"
      }
    return QueryTextError(column: tokens[next].column, expected: what, found: found)
  }

  // MARK: Taking what is next

  mutating func take(symbol: String) -> Bool { take { $0 == .symbol(symbol) } }

  mutating func take(word: String) -> Bool {
    take { if case .word(let found) = $0 { found.lowercased() == word } else { false } }
  }

  private mutating func take(_ isWanted: (Token) -> Bool) -> Bool {
    guard next < tokens.count, isWanted(tokens[next].token) else { return false }
    next += 1
    return true
  }

  mutating func name(_ what: String) throws(QueryTextError) -> Name {
    guard next < tokens.count else { throw expected(what) }
    switch tokens[next].token {
    case .word(let text), .name(let text):
      next += 1
      return Name(text)
    default: throw expected(what)
    }
  }

  mutating func zone() throws(QueryTextError) -> ZoneID {
    guard next < tokens.count else { throw expected("a zone") }
    let text: String
    switch tokens[next].token {
    case .word(let found), .name(let found), .record(let found): text = found
    default: throw expected("a zone")
    }
    guard let zone = ZoneID(text) else { throw expected("a zone, as name or `owner/name`") }
    next += 1
    return zone
  }

  mutating func count() throws(QueryTextError) -> Int {
    guard next < tokens.count, case .number(let text) = tokens[next].token, let count = Int(text), count >= 0
    else { throw expected("a count") }
    next += 1
    return count
  }

  /// The value that is next: a number as each kind of number that it may be.
  mutating func values() throws(QueryTextError) -> [Value] {
    let what = "a value, as \"text\", 12, 1.5, true, null, 2026-01-31 or @zone:record"
    guard next < tokens.count else { throw expected(what) }
    let values: [Value]?
    switch tokens[next].token {
    case .text(let text): values = [.string(text)]
    case .number(let text): values = Self.numbers(text)
    case .record(let text):
      values = RecordID(text).map { [.reference(Reference(zone: $0.zone, record: $0.name))] }
    case .word(let word):
      switch word.lowercased() {
      case "true": values = [true]
      case "false": values = [false]
      case "null": values = [.null]
      default: values = UniqueID(word).map { [.uuid($0)] }
      }
    case .name, .symbol: values = nil
    }
    guard let values else { throw expected(what) }
    next += 1
    return values
  }

  private static func numbers(_ text: String) -> [Value]? {
    if let id = UniqueID(text) { return [.uuid(id)] }
    if let date = CalendarTime.microseconds(text) { return [.date(microseconds: date)] }
    guard text.utf8.allSatisfy({ "0123456789.+-eE".utf8.contains($0) }), let double = Double(text),
      double.isFinite
    else { return nil }
    var values: [Value] = (Int64(text) ?? Int64(exactly: double)).map { [.int($0)] } ?? []
    values.append(.double(double))
    if let decimal = DecimalNumber(text) { values.append(.decimal(decimal)) }
    return values
  }
}
