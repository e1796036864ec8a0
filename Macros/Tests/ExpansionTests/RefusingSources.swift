import Testing

/// A source with ⚠ before the place of what is wrong, and what the macro says there.
struct RefusedCase: Sendable, CustomTestStringConvertible {
  let marked: String
  let message: String

  init(_ marked: String, _ message: String) { (self.marked, self.message) = (marked, message) }

  var testDescription: String { marked }
  var source: String { marked.replacing("⚠", with: "") }

  /// The place: lines and columns count from 1.
  var place: (line: Int, column: Int) {
    let lines = marked.prefix { $0 != "⚠" }.split(separator: "\n", omittingEmptySubsequences: false)
    return (lines.count, lines.last!.utf8.count + 1)
  }
}

@Suite("A macro says what it cannot do, and where")
struct RefusingSources {
  static let declarations = [
    RefusedCase(
      #"@Record("post") ⚠class Post {}"#,
      "'@Record' writes models of structs only: make 'Post' a struct instead of a class"),
    RefusedCase(
      #"@Record("post") ⚠enum Post {}"#,
      "'@Record' writes models of structs only: make 'Post' a struct instead of an enum"),
    RefusedCase(
      #"@Record("post") struct Post⚠<T> {}"#,
      "'@Record' cannot write the model of a generic struct: write the type in place of the parameter"),
    RefusedCase(
      #"@Record(⚠"") struct Post {}"#, "a stored name has 1 to 128 bytes of UTF-8: choose another one"),
    RefusedCase(
      "struct Post { ⚠@Indexed var count: Int }",
      "'@Indexed' is for stored properties of a struct with '@Record': add '@Record' to the struct, or remove this"
    ),
    RefusedCase(
      #"@Record("post") struct Post { ⚠@Merging func merge() {} }"#,
      "'@Merging' is for stored properties of a struct with '@Record': add '@Record' to the struct, or remove this"
    ),
  ]

  static let properties = [
    RefusedCase(
      "var ⚠count = limit()",
      "the initial value does not show the type of 'count': write it, as in 'var count: Int = …'"),
    RefusedCase(
      "var ⚠words = [\"a\"]",
      "the initial value does not show the type of 'words': write it, as in 'var words: Int = …'"),
    RefusedCase(
      "var ⚠(a, b) = (1, 2)", "'@Record' cannot write fields for a tuple: declare each property by itself"),
    RefusedCase(
      "let ⚠count = 5",
      "'count' cannot be read from a record: make it 'var', or 'static let' if it is not stored"),
    RefusedCase(
      "lazy var ⚠count = 5",
      "a record cannot have the lazy property 'count': remove 'lazy', or compute its value"),
    RefusedCase(
      "⚠@Clamped var count: Int",
      "a record cannot have the property 'count' with '@Clamped': remove the attribute"),
    RefusedCase("@Indexed ⚠@Indexed var count: Int", "'@Indexed' stands here twice: keep one"),
    RefusedCase(
      "⚠@Indexed var count: Int { 5 }", "'count' is not stored in the record: remove '@Indexed'"),
    RefusedCase(
      #"⚠@Named("c") static var count = 5"#, "'count' is not stored in the record: remove '@Named'"),
    RefusedCase("var ⚠count: Int!", "'count' may be nil in a record: write 'Int?' instead of 'Int!'"),
    RefusedCase(
      "var ⚠date = Date()",
      "the default of a field must always be the same: write 'var date: Date', and pass its value when you make the struct"
    ),
    RefusedCase(
      "var ⚠date: Date = .now",
      "the default of a field must always be the same: write 'var date: Date', and pass its value when you make the struct"
    ),
    RefusedCase(
      "var ⚠rank: Int? = 5",
      "'rank' could never be nil, because an empty field shows its default: remove '?' or the initial value"
    ),
    RefusedCase(
      "var ⚠key: UUID = .init()",
      "the default of a field must always be the same: write 'var key: UUID?', and pass its value when you make the struct"
    ),
    RefusedCase(
      "var ⚠dice: Int = .random(in: 1...6)",
      "the default of a field must always be the same: write 'var dice: Int', and pass its value when you make the struct"
    ),
    RefusedCase(
      "@Merging var ⚠likes: Int?", "a field that merges is never nil: write 'Int' as the type of 'likes'"),
    RefusedCase(
      "@Merging var ⚠size: Double",
      "'Double' cannot merge: make 'size' an Int, a Decimal, a String, a Set, an array or a dictionary with String keys, or remove '@Merging'"
    ),
    RefusedCase(
      "@Merging var ⚠roles: [Int: String]",
      "'[Int: String]' cannot merge: make 'roles' an Int, a Decimal, a String, a Set, an array or a dictionary with String keys, or remove '@Merging'"
    ),
    RefusedCase(
      "var ⚠tags: Set<String> = []",
      "a set has no order to be stored in as one value: add '@Merging' to 'tags', or make it an array"),
    RefusedCase(
      #"@Merging @Formerly("count") var ⚠likes: Int"#,
      "the stored name of a field that merges cannot change: remove '@Formerly', and write '@Named' with the old name of 'likes'"
    ),
    RefusedCase(
      #"@Merging(startingAt: "a") var ⚠tags: Set<String>"#,
      "'tags' cannot take 'startingAt', which is not for Set<String>: remove it"),
    RefusedCase(
      #"@Merging(filledBy: "a") var ⚠body: String"#,
      "'body' cannot take 'filledBy', which is not for String: remove it"),
    RefusedCase(
      "@Merging(filledBy: a) @Reference(.nullify) var ⚠guests: [Ref<Person.Fields>]",
      "'@Merging' of references has no arguments: remove those of 'guests'"),
    RefusedCase(
      "@MergingMembers var ⚠items: [Item]",
      "'@MergingMembers' is for arrays that merge: write '@Merging @MergingMembers var items: [Item]', or remove it"
    ),
    RefusedCase(
      "@Merging @MergingMembers var ⚠likes: Int",
      "'@MergingMembers' is for arrays that merge: write '@Merging @MergingMembers var likes: [Item]', or remove it"
    ),
    RefusedCase(
      "@Merging @Indexed var ⚠body: String",
      "'body' cannot have an index of its own: remove '@Indexed'; 'static let indexes' can index the words of a text"
    ),
    RefusedCase(
      "@Reference(.nullify) var ⚠author: Ref<Person.Fields>",
      "the record that 'author' refers to may be missing: write 'Ref<Person.Fields>?'"),
    RefusedCase(
      "@Reference(.nullify) var ⚠author: String",
      "'@Reference' is for references: make 'author' a 'Ref<…>?', or remove the attribute"),
    RefusedCase(
      "@Merging @Reference(.nullify) var ⚠tags: Set<String>",
      "'@Reference' is for references: make 'tags' a 'Ref<…>?', or remove the attribute"),
    RefusedCase(
      "var ⚠author: Ref<Person.Fields>? = someone",
      "a reference has no default: remove the initial value of 'author'"),
    RefusedCase(
      #"@Named(⚠"") var a: Int"#, "a stored name has 1 to 128 bytes of UTF-8: choose another one"),
    RefusedCase(
      "var a: Int\n  @Named(⚠\"a\") var b: Int",
      "'a' is stored as 'a' already: choose another name with '@Named'"),
    RefusedCase(
      "@Formerly(\"b\") var a: Int\n  var ⚠b: Int",
      "'a' is stored as 'b' already: choose another name with '@Named'"),
    RefusedCase(
      "enum ⚠CodingKeys: CodingKey { case a }",
      "'@Record' needs the coding keys that the compiler writes: remove 'CodingKeys', and choose stored names with '@Named'"
    ),
    RefusedCase(
      "#if DEBUG\n  var ⚠count: Int\n  #endif",
      "the fields of a record must be the same in each build: move the property out of '#if'"),
  ]

  @Test("of a declaration", arguments: declarations)
  func declaration(_ refused: RefusedCase) { expectProblem(refused, in: Expansion(of: refused.source)) }

  @Test("of a property", arguments: properties)
  func property(_ refused: RefusedCase) {
    let whole = RefusedCase(
      "@Record(\"post\")\nstruct Post {\n  var first: Int\n  \(refused.marked)\n}", refused.message)
    let expansion = Expansion(of: whole.source)
    expectProblem(whole, in: expansion)
    #expect(expansion.source.contains("let first = Field<Int>"), "the other fields are still there")
  }

  private func expectProblem(_ refused: RefusedCase, in expansion: Expansion) {
    #expect(expansion.problems.map(\.message) == [refused.message])
    let (line, column) = refused.place
    #expect(expansion.problems.map(\.line) == [line])
    #expect(expansion.problems.map(\.column) == [column])
  }
}
