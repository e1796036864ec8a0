import Foundation
import StoreTesting
import Synchronization
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

/// What is written later in a test has a later time.
final class TickingClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_800_000_000_000)

  func tick() -> Int64 {
    milliseconds.withLock { now in
      now += 1
      return now
    }
  }
}

extension TemporaryDirectory {
  /// - Parameter clock: ticks with each look at it; nil for the machine's, by which two stores may write at one time.
  func store(_ name: String = "store", schema: UInt64? = nil, clock: TickingClock? = nil) throws -> Store {
    var configuration = StoreConfiguration()
    if let clock { configuration.wallMilliseconds = { clock.tick() } }
    return try Store(
      path + "/" + name, .consistent, models: [Post.self, Tag.self],
      zones: [.synced("blog"), .local("notes")],
      author: name, schema: schema, configuration: configuration)
  }
}
