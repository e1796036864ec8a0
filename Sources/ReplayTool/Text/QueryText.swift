import EventStore

/// The text form of queries, for people:
///
/// ```
/// post in blog, drafts where date > 2026-01-01 and tags contains "swift" order by date desc, title limit 5
/// ```
///
/// | what | how |
/// |---|---|
/// | query | type or `*`, then what is wanted of: `in` zones, `where` condition, `order by` fields, `limit` count |
/// | condition | `a and b`, `a or b`, `not a`, `(a)` |
/// | comparison | field, then `=` `!=` `<` `<=` `>` `>=` value; `in (values)`; `between value and value`; `contains value`; `starts with text`; `ends with text`; `matches text`, which has all its words, the last one at least begun; `has (condition)`, whose fields are members of an element, or `element` |
/// | field | `headline`; `author.name` follows a reference; `draft:text` is a member of a value; `name` in the record is written `.name`; `` `odd name` ``; `folded headline` without case and diacritics |
/// | value | `"text"`, `12`, `1.5`, `true`, `false`, `null`, `2026-01-31`, `2026-01-31T09:05Z`, a UUID, `@zone:record` |
///
/// Words of the form are read in any case. A field that the app has declared is read as the app's queries read it; of
/// another one nobody knows the kind, so a condition holds if it does for the field of any kind.
struct QueryText {
  /// Conditions in conditions, at most.
  private static let depthMax = 64

  private var tokens: QueryTokens
  private let declared: DeclaredFields
  /// The type of the records; nil for all.
  private var type: Name?
  private var depth = 0
  /// Whether fields are members of an element.
  private var isInElement = false

  /// - Parameter declared: the fields that the app has declared.
  /// - Throws: ``QueryTextError``.
  static func parse(
    _ text: String, declared: DeclaredFields = DeclaredFields()
  ) throws(QueryTextError) -> RecordQuery {
    var parser = QueryText(tokens: try QueryTokens(text), declared: declared)
    return try parser.query()
  }

  private mutating func query() throws(QueryTextError) -> RecordQuery {
    var query = RecordQuery()
    if !tokens.take(symbol: "*") {
      let type = try tokens.name("a type of records, or *")
      query.types = [type]
      self.type = type
    }
    if tokens.take(word: "in") {
      var zones: [ZoneID] = []
      repeat { zones.append(try tokens.zone()) } while tokens.take(symbol: ",")
      query.zones = zones
    }
    var rest = "where, order by, limit or the end"
    if tokens.take(word: "where") {
      query.condition = try condition()
      rest = "and, or, order by, limit or the end"
    }
    if tokens.take(word: "order") {
      guard tokens.take(word: "by") else { throw tokens.expected("by") }
      repeat {
        let field = try field()
        let isDescending = tokens.take(word: "desc")
        if !isDescending { _ = tokens.take(word: "asc") }
        query.order.append(QueryOrder(field, isDescending: isDescending))
      } while tokens.take(symbol: ",")
      rest = "a comma, limit or the end"
    }
    if tokens.take(word: "limit") {
      query.limit = try tokens.count()
      rest = "the end"
    }
    guard tokens.isAtEnd else { throw tokens.expected(rest) }
    return query
  }

  // MARK: Conditions

  private mutating func condition() throws(QueryTextError) -> QueryCondition {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthMax else {
      throw tokens.expected("at most \(Self.depthMax) conditions in conditions")
    }
    var parts = [try conjunction()]
    while tokens.take(word: "or") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func conjunction() throws(QueryTextError) -> QueryCondition {
    var parts = [try negation()]
    while tokens.take(word: "and") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func negation() throws(QueryTextError) -> QueryCondition {
    var isNegated = false
    while tokens.take(word: "not") { isNegated.toggle() }
    let condition: QueryCondition
    if tokens.take(symbol: "(") {
      condition = try self.condition()
      guard tokens.take(symbol: ")") else { throw tokens.expected("and, or, or )") }
    } else {
      condition = try comparison()
    }
    return isNegated ? .not(condition) : condition
  }

  private mutating func comparison() throws(QueryTextError) -> QueryCondition {
    let found = try fieldWithDeclaration()
    let field = found.field
    for comparison in QueryCondition.Comparison.allCases where tokens.take(symbol: comparison.rawValue) {
      return try Self.compare(field, comparison, tokens.values())
    }
    if tokens.take(word: "in") {
      guard tokens.take(symbol: "(") else { throw tokens.expected("( and values") }
      var values: [Value] = []
      repeat { values += try tokens.values() } while tokens.take(symbol: ",")
      guard tokens.take(symbol: ")") else { throw tokens.expected(", or )") }
      return Self.oneOf(field.compared(with: values), field.numbers(values))
    }
    if tokens.take(word: "between") {
      let least = try tokens.values()
      guard tokens.take(word: "and") else { throw tokens.expected("and, and the greatest value") }
      return .all([
        Self.compare(field, .greaterOrEqual, least), Self.compare(field, .lessOrEqual, try tokens.values()),
      ])
    }
    if tokens.take(word: "contains") {
      let values = try tokens.values()
      var ways: [QueryCondition] = field.kind == .text ? [] : values.map { .contains(field, $0) }
      if case .string(let part) = values[0], [.register, .text].contains(field.kind) {
        ways.append(.text(field, .contains, part))
      }
      if !found.isDeclared {
        ways += [.set, .map, .list].flatMap { kind in values.map { .contains(field.as(kind), $0) } }
      }
      return ways.count == 1 ? ways[0] : .any(ways)
    }
    for (word, match) in [("starts", QueryCondition.TextMatch.prefix), ("ends", .suffix)]
    where tokens.take(word: word) {
      guard tokens.take(word: "with") else { throw tokens.expected("with") }
      guard case .string(let part)? = try tokens.values().first else {
        throw tokens.expected("a text in quotes")
      }
      return .text(field, match, part)
    }
    if tokens.take(word: "matches") {
      guard case .string(let words)? = try tokens.values().first else {
        throw tokens.expected("words in quotes")
      }
      return .words(field, words, lastIsPrefix: true)
    }
    if tokens.take(word: "has") {
      guard tokens.take(symbol: "(") else { throw tokens.expected("( and a condition of an element") }
      let wasInElement = isInElement
      isInElement = true
      let condition = try condition()
      isInElement = wasInElement
      guard tokens.take(symbol: ")") else { throw tokens.expected("and, or, or )") }
      if found.isDeclared { return .hasElement(field, condition) }
      return .any(
        [.hasElement(field, condition)] + [.list, .set, .map].map { .hasElement(field.as($0), condition) })
    }
    throw tokens.expected(
      "=, !=, <, <=, >, >=, in, between, contains, starts with, ends with, matches or has")
  }

  private static func oneOf(_ field: QueryField, _ values: [Value]) -> QueryCondition {
    values.isEmpty ? .always(false) : .oneOf(field, values)
  }

  /// Compares with a number as each kind of number that it may be.
  private static func compare(
    _ field: QueryField, _ comparison: QueryCondition.Comparison, _ values: [Value]
  ) -> QueryCondition {
    let field = field.compared(with: values)
    let kinds = field.numbers(values)
    if kinds.count == 1 { return .compare(field, comparison, kinds[0]) }
    if comparison == .equal { return oneOf(field, kinds) }
    if comparison == .notEqual { return .not(oneOf(field, kinds)) }
    var ways: [QueryCondition] = kinds.map { .compare(field, comparison, $0) }
    // A fraction, or a number that is too large for a whole one.
    if case .double(let number) = values[0], kinds.isEmpty || kinds.count == values.count {
      ways.append(wholeNumbers(of: field, comparison, number, values.last!))
    }
    return ways.count == 1 ? ways[0] : .any(ways)
  }

  /// The whole numbers that a comparison with a number holds for which is none of them.
  private static func wholeNumbers(
    of field: QueryField, _ comparison: QueryCondition.Comparison, _ number: Double, _ exact: Value
  ) -> QueryCondition {
    let below: Int128 =
      if case .decimal(let exact) = exact {
        exact.roundedDown
      } else {
        abs(number) < 1e38 ? Int128(number.rounded(.down)) : number < 0 ? .min : .max
      }
    switch comparison {
    case .equal, .notEqual: return .always(false)
    case .less, .lessOrEqual:
      return below < Int64.min ? .always(false) : .compare(field, .lessOrEqual, .int(Int64(clamping: below)))
    case .greater, .greaterOrEqual:
      return below >= Int64.max
        ? .always(false) : .compare(field, .greaterOrEqual, .int(Int64(clamping: below + 1)))
    }
  }

  // MARK: Fields

  private mutating func field() throws(QueryTextError) -> QueryField { try fieldWithDeclaration().field }

  /// A field, and whether the app has declared it.
  private mutating func fieldWithDeclaration() throws(QueryTextError) -> (field: QueryField, isDeclared: Bool)
  {
    if tokens.take(symbol: ".") {
      guard tokens.take(word: "name") else { throw tokens.expected("name: .name is the record's name") }
      return (QueryField(.name), false)
    }
    let isFolded = tokens.take(word: "folded")
    var names = [try tokens.name("a field")]
    while tokens.take(symbol: ".") { names.append(try tokens.name("a field of the record it refers to")) }
    var members: [Name] = []
    while tokens.take(symbol: ":") { members.append(try tokens.name("a member of the value")) }
    if isInElement {
      names += members
      let field = QueryField(
        .field("", .register), members: names == ["element"] ? [] : names, isFolded: isFolded)
      return (field, false)
    }
    let name = names.removeLast()
    // Of the record that a reference leads to nobody knows the type.
    let declaration = declared.field(name, of: names.isEmpty ? type : nil)
    var field = declaration ?? QueryField(.field(name, .register))
    (field.path, field.members, field.isFolded) = (names, members, isFolded)
    // A member of the value has no default of its own.
    if !members.isEmpty { field.fallback = .null }
    return (field, declaration != nil)
  }
}

extension QueryField {
  /// The field for a comparison with some values: who asks for none means a field that was never set, whatever the app
  /// shows then.
  fileprivate func compared(with values: [Value]) -> QueryField {
    guard values.contains(.null) else { return self }
    var field = self
    field.fallback = .null
    return field
  }

  /// Of the kinds of number that a value may be, the one that the app has in the field, if its default is one. Other
  /// values stay.
  fileprivate func numbers(_ values: [Value]) -> [Value] {
    guard kind == .register, members.isEmpty, upcast == nil else { return values }
    return values.filter { value in
      switch (fallback, value) {
      case (.int, .double), (.int, .decimal), (.double, .int), (.double, .decimal): false
      default: true
      }
    }
  }

  /// The field as another kind: a register stands for what a record shows under the name.
  fileprivate func `as`(_ kind: FieldKind) -> QueryField {
    var field = self
    if case .field(let name, _) = subject { field.subject = .field(name, kind) }
    return field
  }
}
