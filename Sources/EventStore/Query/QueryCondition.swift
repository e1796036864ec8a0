public import OperationFormat

/// What the records of a query must fulfil.
///
/// Comparisons are those of `Value.precedes(_:)`, within one kind of value: an integer is neither less nor
/// greater than a text. No value is null: it equals null, and is in no order with others.
public indirect enum QueryCondition: Hashable, Sendable {
  /// All records, or none.
  case always(Bool)
  case not(QueryCondition)
  /// All of some.
  case all([QueryCondition])
  /// Any of some.
  case any([QueryCondition])
  case compare(QueryField, Comparison, Value)
  /// The value is one of some.
  case oneOf(QueryField, [Value])
  /// The value is a text that is at a place in another.
  case text(QueryField, TextMatch, String)
  /// The text has a word, or one that begins so. Case and diacritics do not count. A word is letters, digits
  /// and marks in a row; scripts without spaces have one for each ideograph and each Kana.
  case word(QueryField, String, isPrefix: Bool)
  /// A set, or an array in a register, has an element; a map has a key, which is a string.
  case contains(QueryField, Value)
  /// An element of a list, or of an array in a register, fulfils a condition. In it, a field without a path
  /// means a member of the element: see ``element(_:)``.
  case hasElement(QueryField, QueryCondition)
  /// A condition that compares with what cannot be stored. Running the query throws this.
  case invalid(String)

  public enum Comparison: String, Hashable, Sendable, CaseIterable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }

  public enum TextMatch: String, Hashable, Sendable, CaseIterable {
    case prefix
    case suffix
    case contains
  }

  /// In the condition of ``hasElement(_:_:)``: a member of the element, or without members the element
  /// itself.
  public static func element(_ members: Name...) -> QueryField { elementMember(members) }

  /// The text has all words of another.
  ///
  /// - Parameters:
  ///   - field: the field with the text.
  ///   - text: the words.
  ///   - lastIsPrefix: whether it is enough if a word begins as the last one, which may be typed just now.
  public static func words(
    _ field: QueryField, _ text: String, lastIsPrefix: Bool = false
  ) -> QueryCondition {
    var words: [String] = []
    FoldedText.forEachWord(of: text) { word in
      words.append(String(word))
      return true
    }
    let last = lastIsPrefix ? words.popLast() : nil
    return .all(
      words.map { .word(field, $0, isPrefix: false) }
        + (last.map { [.word(field, $0, isPrefix: true)] } ?? []))
  }

  package static func elementMember(_ members: [Name]) -> QueryField {
    QueryField(.field("", .register), members: members)
  }
}

extension QueryCondition.Comparison {
  /// Whether it holds between two values.
  func holds(_ left: Value, _ right: Value) -> Bool {
    switch self {
    case .equal: left == right
    case .notEqual: left != right
    case .less: left.rank == right.rank && left.precedes(right)
    case .lessOrEqual: left.rank == right.rank && right.rank > 0 && !right.precedes(left)
    case .greater: left.rank == right.rank && right.precedes(left)
    case .greaterOrEqual: left.rank == right.rank && right.rank > 0 && !left.precedes(right)
    }
  }
}

extension QueryCondition.Comparison {
  /// Whether it holds between two texts, given by their bytes.
  func holds(_ left: RawSpan, _ right: RawSpan) -> Bool {
    switch self {
    case .equal: equalBytes(left, right)
    case .notEqual: !equalBytes(left, right)
    case .less: compareBytes(left, right) < 0
    case .lessOrEqual: compareBytes(left, right) <= 0
    case .greater: compareBytes(left, right) > 0
    case .greaterOrEqual: compareBytes(left, right) >= 0
    }
  }
}

extension QueryCondition.TextMatch {
  /// Whether it holds, by UTF-8 bytes: a text of whole scalars is found only at whole scalars.
  func holds(_ text: RawSpan, _ part: RawSpan) -> Bool {
    let (count, rest) = (part.byteCount, text.byteCount - part.byteCount)
    if rest < 0 { return false }
    switch self {
    case .prefix: return equalBytes(text.extracting(..<count), part)
    case .suffix: return equalBytes(text.extracting(rest...), part)
    case .contains:
      if count > 16 { return Self.find(part, in: text) }
      for start in 0...rest where equalBytes(text.extracting(start..<start + count), part) { return true }
      return false
    }
  }

  /// Whether a part is in a text (Knuth, Morris, Pratt: Fast pattern matching in strings, 1977).
  ///
  /// - Complexity: O(n) in both.
  private static func find(_ part: RawSpan, in text: RawSpan) -> Bool {
    func byte(_ bytes: RawSpan, _ offset: Int) -> UInt8 {
      bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
    // For each place of the part: how much of its beginning ends there.
    var ends = [0]
    var matched = 0
    for offset in 1..<part.byteCount {
      while matched > 0, byte(part, offset) != byte(part, matched) { matched = ends[matched - 1] }
      if byte(part, offset) == byte(part, matched) { matched += 1 }
      ends.append(matched)
    }
    matched = 0
    for offset in 0..<text.byteCount {
      while matched > 0, byte(text, offset) != byte(part, matched) { matched = ends[matched - 1] }
      if byte(text, offset) == byte(part, matched) { matched += 1 }
      if matched == part.byteCount { return true }
    }
    return false
  }
}

extension QueryCondition {
  /// The condition as it is run: with what is compared folded where case and diacritics do not count, and lists of
  /// values in order.
  var prepared: QueryCondition {
    func fold(_ value: Value, _ field: QueryField) -> Value {
      switch value {
      case .string(let text) where field.isFolded: .string(FoldedText.fold(text))
      case .double(let number) where number.isNaN: .double(.nan)
      default: value
      }
    }
    return switch self {
    case .not(let condition): .not(condition.prepared)
    case .all(let conditions): .all(conditions.map(\.prepared))
    case .any(let conditions): .any(conditions.map(\.prepared))
    case .compare(let field, let comparison, let value): .compare(field, comparison, fold(value, field))
    case .oneOf(let field, let values):
      .oneOf(field, values.map { fold($0, field) }.sorted { $0.precedes($1) })
    case .text(let field, let match, let text):
      .text(field, match, field.isFolded ? FoldedText.fold(text) : text)
    case .word(let field, let word, let isPrefix): .word(field, FoldedText.fold(word), isPrefix: isPrefix)
    case .hasElement(let field, let condition): .hasElement(field, condition.prepared)
    case .always, .contains, .invalid: self
    }
  }
}

extension Value {
  /// The value, and a text without case and diacritics.
  var folded: Value {
    if case .string(let text) = self { .string(FoldedText.fold(text)) } else { self }
  }
}

extension QueryCondition: CustomStringConvertible {
  /// The condition in words.
  public var description: String {
    switch self {
    case .always(let isTrue): isTrue ? "all" : "none"
    case .not(let condition): "not (\(condition))"
    case .all(let conditions): Self.joined(conditions, " and ", empty: "all")
    case .any(let conditions): Self.joined(conditions, " or ", empty: "none")
    case .compare(let field, let comparison, let value): "\(field) \(comparison.rawValue) \(value)"
    case .oneOf(let field, let values): "\(field) in [\(values.map { "\($0)" }.joined(separator: ", "))]"
    case .text(let field, let match, let part): "\(field) \(match.rawValue) \(Value.string(part))"
    case .word(let field, let word, let isPrefix):
      "\(field) has the word \(Value.string(word))\(isPrefix ? "…" : "")"
    case .contains(let field, let value): "\(field) contains \(value)"
    case .hasElement(let field, let condition): "\(field) has (\(condition))"
    case .invalid(let what): "invalid: \(what)"
    }
  }

  private static func joined(_ conditions: [QueryCondition], _ word: String, empty: String) -> String {
    // Several may read the same, as those of one field in several kinds.
    var texts: [String] = []
    for text in conditions.lazy.map({ "\($0)" }) where !texts.contains(text) { texts.append(text) }
    if texts.count == 1, conditions.count > 1 { return texts[0] }
    return texts.isEmpty ? empty : texts.map { "(\($0))" }.joined(separator: word)
  }
}
