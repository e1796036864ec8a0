import Foundation
import RecordMacro
import Tributary

enum Mood: String, FieldValue, Codable { case calm, busy }

struct Line: Codable, Sendable, Hashable {
  var text: String
  var isDone = false
}

/// It and ``Post`` refer to each other.
@Record("person")
struct Person: Hashable {
  var name: String
  @Reference(.nullify) var favorite: Ref<Post.Fields>?
}

/// A property of each kind.
@Record("post")
struct Post: Hashable {
  var id: Ref<Fields>?
  @Named("head") @Indexed var headline = "untitled"
  @Formerly("day") var date: Date
  var rank: Int?
  var mood = Mood.calm
  var draft: Line?
  var photo: AssetReference?
  var first = Line(text: "none")
  let code: String
  var `default`: Bool
  @Reference(.nullify) @Indexed var author: Ref<Person.Fields>?
  @Merging var likes: Int
  @Merging var balance: Decimal
  @Merging var body: String
  @Merging @Indexed var tags: Set<String>
  @Merging @Reference(.nullify) var readers: Set<Ref<Person.Fields>>
  @Merging(filledBy: Line(text: "")) @MergingMembers var lines: [Line]
  @Merging var roles: [String: Int]

  var isLiked: Bool { likes > 0 }
  static let indexes: [Fields.Index] = [Fields.Index { [$0.author, $0.date.descending] }]

  init(_ headline: String, code: String) {
    (self.headline, self.code, date) = (headline, code, Date(timeIntervalSince1970: 1000))
    (self.default, likes, balance, body) = (false, 0, 0, "")
    (tags, readers, lines, roles) = ([], [], [], [:])
  }
}

/// A former version of ``Tally``.
@Record("tally")
struct FormerTally {
  var count = 0
  var words: [String] = []
}

@Record("tally")
struct Tally {
  @Merging(startingAt: "count") var total: Int
  @Merging(startingWith: "words") @Named("unique") var words: Set<String>
}

/// What others than its module see.
@Record("page")
public struct PublicPage: Hashable {
  public var title: String
  private var visits = 0
  @Merging private var words: [Word] = []

  fileprivate struct Word: Codable, Sendable, Hashable { var text: String }

  public init(title: String) {
    self.title = title
    words = [Word(text: title)]
  }

  static func visited(_ count: Int) -> Query<Fields> { Self.where { $0.visits == count } }
}

enum Nested {
  @RecordMacro.Record("nested")
  struct Leaf {
    var size = 1
  }
}

// A record of a type of the store has the name of the macro.
typealias StoredRecord = Tributary.Record
