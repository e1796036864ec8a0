import Testing

@Suite("A struct gets a model")
struct ExpandingStructs {
  @Test("with a field for each stored property, in their order")
  func storedProperties() {
    let expansion = Expansion(
      of: """
        @Record("post")
        struct Post: Hashable {
          static let limit = 5
          var id: Ref<Fields>?
          var headline = "untitled" { didSet { print(headline) } }
          var x = 1, y: Int
          var a, b: String
          @Merging var likes: Int
          var isPopular: Bool { likes > 5 }
          var twice: Int {
            get { likes * 2 }
            set { likes = newValue / 2 }
          }
          struct Item {
            var text: String
          }
          func show() {}
        }
        """)
    #expect(expansion.problems == [])
    #expect(
      expansion.source
        == """
        struct Post: Hashable {
          static let limit = 5
          var id: Ref<Fields>?
          var headline = "untitled" { didSet { print(headline) } }
          var x = 1, y: Int
          var a, b: String
          var likes: Int
          var isPopular: Bool { likes > 5 }
          var twice: Int {
            get { likes * 2 }
            set { likes = newValue / 2 }
          }
          struct Item {
            var text: String
          }
          func show() {}

          /// The fields of the records that ``Post`` shows.
          struct Fields: Model {
            static let type: Name = "post"

            let headline = Field<String>("headline", default: "untitled")
            let x = Field<Int>("x", default: 1)
            let y = Field<Int>("y")
            let a = Field<String>("a")
            let b = Field<String>("b")
            let likes = CounterField("likes")
          }
        }

        nonisolated extension Post: RecordStruct, Codable {
        }
        """.withoutEmptyLines)
  }

  @Test("with its access")
  func access() {
    for (written, model) in [
      ("public ", "public "), ("package ", "package "), ("internal ", ""), ("fileprivate ", ""),
      ("private ", ""),
    ] {
      let expansion = Expansion(of: "@Record(\"post\") \(written)struct Post { \(written)var count: Int }")
      let field = written.contains("private") ? "fileprivate " : model
      #expect(expansion.source.contains("\n  \(model)struct Fields: Model {"))
      #expect(expansion.source.contains("    \(model)static let type: Name = \"post\"\n"))
      #expect(expansion.source.contains("    \(field)let count = "))
      #expect(expansion.source.contains("    \(model)init() {") == !model.isEmpty)
      #expect(expansion.problems == [])
    }
  }

  @Test("with the indexes that it declares")
  func indexes() {
    let expansion = Expansion(
      of: """
        @Record("post")
        struct Post {
          var date: Date
          static let indexes: [Fields.Index] = [Fields.Index { [$0.date.descending] }]
        }
        """)
    #expect(
      expansion.source.contains("    static var indexes: [Index] {\n      Post.indexes\n    }")
        || expansion.source.contains("    static var indexes: [Index] { Post.indexes }"))
    #expect(expansion.problems == [])
  }

  @Test("without fields, if it has no properties")
  func noProperties() {
    #expect(
      Expansion(of: "@Record(Names.post) struct Post {}").source.contains(
        """
          struct Fields: Model {
            static let type: Name = Names.post
          }
        """))
  }

  @Test("inside another type")
  func nested() {
    let expansion = Expansion(
      of: "enum App { @RecordMacro.Record(\"post\") struct Post { @Indexed var a: Int } }")
    #expect(expansion.problems == [])
  }
}
