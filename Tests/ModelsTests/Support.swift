import Foundation
import StoreTesting
import Tributary

struct Item: Codable, Hashable {
  var text: String
  var done = false
}

enum Mood: String, FieldValue, Codable { case calm, busy }

struct Tag: Model {
  static let type: Name = "tag"
  let name = Field<String>("name")
}

struct Post: Model {
  static let type: Name = "post"
  let headline = Field<String>("headline", formerly: "title", default: "untitled")
  let date = Field<Date>("date")
  let rank = Field<Int?>("rank")
  let mood = Field<Mood>("mood", default: .calm)
  let draft = Field<Item?>("draft")
  let body = ProseField("body")
  let likes = CounterField("likes")
  let balance = DecimalCounterField("balance")
  let tags = SetField<Ref<Tag>>("tags", .nullify)
  let words = SetField<String>("words")
  let author = Field<Ref<Tag>?>("author", .cascade)
  let items = ListField<Item>("items")
  let roles = MapField<String>("roles")
  let stars = ReducedField<Int, Int>("stars", initial: 0) { $0 += $1 }
}

extension TemporaryDirectory {
  func store(_ name: String = "store", schema: UInt64? = nil) throws -> Store {
    try Store(
      path + "/" + name, .consistent, models: [Post.self, Tag.self],
      zones: [.synced("blog"), .local("notes")],
      author: name, schema: schema)
  }
}
