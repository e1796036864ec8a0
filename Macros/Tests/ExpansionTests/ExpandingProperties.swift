import Testing

/// A property, and the field that it becomes.
struct PropertyCase: Sendable, CustomTestStringConvertible {
  let attributes: String
  let property: String
  let field: String

  init(_ attributes: String, _ property: String, _ field: String) {
    (self.attributes, self.property, self.field) = (attributes, property, field)
  }

  var testDescription: String { "\(attributes) \(property)" }
}

@Suite("A property becomes a field")
struct ExpandingProperties {
  static let withOneValue = [
    PropertyCase("", "var date: Date", #"let date = Field<Date>("date")"#),
    PropertyCase("", "var rank: Int?", #"let rank = Field<Int?>("rank")"#),
    PropertyCase("", "var rank: Int? = nil", #"let rank = Field<Int?>("rank")"#),
    PropertyCase("", "var time = \"now\"", #"let time = Field<String>("time", default: "now")"#),
    PropertyCase(
      "", "var start = Date(timeIntervalSince1970: 0)",
      #"let start = Field<Date>("start", default: Date(timeIntervalSince1970: 0))"#),
    PropertyCase("", "var words: [String]", #"let words = Field<[String]>("words")"#),
    PropertyCase(
      "", "var season: Season = .summer", #"let season = Field<Season>("season", default: .summer)"#),
    PropertyCase("", "let code: String", #"let code = Field<String>("code")"#),
    PropertyCase("", "var `default`: Int", #"let `default` = Field<Int>("default")"#),
    PropertyCase("", "private(set) var count: Int", #"let count = Field<Int>("count")"#),
    PropertyCase("", "private var secret: Int", #"fileprivate let secret = Field<Int>("secret")"#),
    PropertyCase("", "public var shown: Int", #"public let shown = Field<Int>("shown")"#),
    PropertyCase("", "var next: Ref<Self.Fields>?", #"let next = Field<Ref<Post.Fields>?>("next")"#),
    PropertyCase("@available(*, deprecated)", "var old: Int", #"let old = Field<Int>("old")"#),
    PropertyCase(
      #"@Formerly("title")"#, "var name: String", #"let name = Field<String>("name", formerly: "title")"#),
    PropertyCase(
      #"@Formerly("title", "head") @Named("h") @Indexed"#, #"var name = "untitled""#,
      #"let name = Field<String>("h", formerly: "title", "head", default: "untitled").indexed"#),
    PropertyCase(
      "@Reference(.nullify)", "var author: Ref<Person.Fields>?",
      #"let author = Field<Ref<Person.Fields>?>("author", .nullify)"#),
    PropertyCase(
      #"@Reference(.cascade) @Formerly("owner") @Indexed"#, "var author: Tributary.Ref<Person.Fields>? = nil",
      #"let author = Field<Tributary.Ref<Person.Fields>?>("author", .cascade, formerly: "owner").indexed"#),
    PropertyCase(
      "", "var link: Optional<Ref<Person.Fields>>", #"let link = Field<Optional<Ref<Person.Fields>>>("link")"#
    ),
  ]

  static let thatShowTheirType = [
    PropertyCase("", #"var a = "untitled""#, #"let a = Field<String>("a", default: "untitled")"#),
    PropertyCase("", "var a = 5", #"let a = Field<Int>("a", default: 5)"#),
    PropertyCase("", "var a = -5", #"let a = Field<Int>("a", default: -5)"#),
    PropertyCase("", "var a = 1.5", #"let a = Field<Double>("a", default: 1.5)"#),
    PropertyCase("", "var a = true", #"let a = Field<Bool>("a", default: true)"#),
    PropertyCase("", "var a = Item(text: \"b\")", #"let a = Field<Item>("a", default: Item(text: "b"))"#),
    PropertyCase("", "var a = Item.init()", #"let a = Field<Item>("a", default: Item.init())"#),
    PropertyCase("", "var a = Self.Item()", #"let a = Field<Post.Item>("a", default: Post.Item())"#),
    PropertyCase("", "var a = Box<Int>(1)", #"let a = Field<Box<Int>>("a", default: Box<Int>(1))"#),
    PropertyCase("", "var a = [Int]()", #"let a = Field<[Int]>("a", default: [Int]())"#),
    PropertyCase(
      "", "var a = [String: Int]()", #"let a = Field<[String: Int]>("a", default: [String: Int]())"#),
    PropertyCase("", "var a = Season.summer", #"let a = Field<Season>("a", default: Season.summer)"#),
  ]

  static let thatMerge = [
    PropertyCase("@Merging", "var likes: Int", #"let likes = CounterField("likes")"#),
    PropertyCase("@Merging @Indexed", "var likes = 0", #"let likes = CounterField("likes").indexed"#),
    PropertyCase("@Merging", "var cost: Decimal", #"let cost = DecimalCounterField("cost")"#),
    PropertyCase("@Merging", "var body: String", #"let body = ProseField("body")"#),
    PropertyCase("@Merging", "var tags: Set<String>", #"let tags = SetField<String>("tags")"#),
    PropertyCase(
      #"@Merging @Named("t") @Indexed"#, "var tags: Swift.Set<String> = []",
      #"let tags = SetField<String>("t").indexed"#),
    PropertyCase("@Merging", "var tags = Set<String>()", #"let tags = SetField<String>("tags")"#),
    PropertyCase("@Merging", "var roles: [String: Int]", #"let roles = MapField<Int>("roles")"#),
    PropertyCase("@Merging", "var roles: Dictionary<String, Int>", #"let roles = MapField<Int>("roles")"#),
    PropertyCase("@Merging", "var items: [Item]", #"let items = ListField<Item>("items")"#),
    PropertyCase(
      "@Merging(filledBy: Item()) @MergingMembers @Indexed", "var items: [Item]",
      #"let items = ListField<Item>("items", filledBy: Item()).mergingMembers.indexed"#),
    PropertyCase(
      "@Merging(filledBy: Self.empty) @Named(Self.names.items)", "var items: [Self.Item]",
      #"let items = ListField<Post.Item>(Post.names.items, filledBy: Post.empty)"#),
    PropertyCase("@Merging", "var items: Array<Item>", #"let items = ListField<Item>("items")"#),
    PropertyCase(
      "@Merging @Reference(.nullify)", "var guests: Set<Ref<Person.Fields>>",
      #"let guests = SetField<Ref<Person.Fields>>("guests", .nullify)"#),
    PropertyCase(
      "@Merging @Reference(.nullify)", "var guests: [Ref<Person.Fields>]",
      #"let guests = ListField<Ref<Person.Fields>>("guests", .nullify)"#),
    PropertyCase(
      "@Merging @Reference(.cascade)", "var guests: [String: Ref<Person.Fields>]",
      #"let guests = MapField<Ref<Person.Fields>>("guests", .cascade)"#),
    PropertyCase(
      #"@Merging(startingAt: "count", "likes")"#, "var likes: Int",
      #"let likes = CounterField("likes", startingAt: "count", "likes")"#),
    PropertyCase(
      #"@Merging(startingWith: "words")"#, "var tags: Set<String>",
      #"let tags = SetField<String>("tags", startingWith: "words")"#),
    PropertyCase(
      "@Merging(filledBy: Item())", "var items: [Item]",
      #"let items = ListField<Item>("items", filledBy: Item())"#),
    PropertyCase(
      "@Merging(filledBy: Item())", "var items: [String: Item]",
      #"let items = MapField<Item>("items", filledBy: Item())"#),
  ]

  @Test("with one value, by its type", arguments: withOneValue)
  func oneValue(_ property: PropertyCase) { expectField(property) }

  @Test("of the type that its initial value shows", arguments: thatShowTheirType)
  func shownType(_ property: PropertyCase) { expectField(property) }

  @Test("that merges, by its type", arguments: thatMerge)
  func merging(_ property: PropertyCase) { expectField(property) }

  private func expectField(_ property: PropertyCase) {
    let isBuiltIn = property.attributes.hasPrefix("@available")
    let expansion = Expansion(
      of: """
        @Record("post")
        struct Post {
          \(property.attributes)
          \(property.property)
        }
        """)
    #expect(expansion.problems == [])
    #expect(
      expansion.source
        == """
        struct Post {
          \(isBuiltIn ? property.attributes + "\n  " : "")\(property.property)

          /// The fields of the records that ``Post`` shows.
          struct Fields: Model {
            static let type: Name = "post"

            \(property.field)
          }
        }

        nonisolated extension Post: RecordStruct, Codable {
        }
        """.withoutEmptyLines)
  }
}
