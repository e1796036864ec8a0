import Foundation
import Tributary

/// A post of the family's journal.
struct Post: Model {
  static let type: Name = "post"
  let headline = Field<String>("headline", default: "untitled")
  let body = ProseField("body")
  let date = Field<Date>("date")
  let tags = SetField<Ref<Tag>>("tags", .nullify)
  let likes = CounterField("likes")

  static let indexes: [Index] = [Index { [$0.date.descending] }]
}

/// A tag is named by its text. So two devices that make the same tag make one record.
struct Tag: Model {
  static let type: Name = "tag"
  let color = Field<String>("color", default: "gray")
}

/// A file of a post. When the post is deleted, it is hidden too.
struct Attachment: Model {
  static let type: Name = "attachment"
  let post = Field<Ref<Post>?>("post", .cascade).indexed
  let name = Field<String>("name")
  let file = Field<AssetReference?>("file")
}

extension WriteTransaction {
  /// Adds a tag to a post, and makes the tag if there is none.
  mutating func add(tag name: String, to post: Ref<Post>) throws {
    let tag = Ref<Tag>(in: post.zone, Name(name))
    if try !contains(tag) { try create(Tag.self, in: tag.zone, named: tag.name) }
    self[post].tags.insert(tag)
  }
}
