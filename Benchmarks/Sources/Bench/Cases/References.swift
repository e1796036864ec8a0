import EventStore
import Foundation
import GRDB
import Stores

/// The cost of references: to set them, to find holders, to read records with them, and to hide many records
/// by one deletion.
extension Case {
  /// A store with posts, each with comments that refer to it by a cascade.
  private final class Posts {
    let store: LocalStore
    let posts: Int
    let comments: Int

    init(_ directory: String, posts: Int, comments: Int) async throws {
      self.posts = posts
      self.comments = comments
      store = try LocalStore(directory: directory, durability: .consistent)
      try await store.write { tx in
        try tx.createZone(Dataset.zone)
        for post in 0..<posts { try tx.create(Self.post(post), type: "post") }
      }
      for start in stride(from: 0, to: comments, by: 5000) {
        try await store.write { tx in
          for comment in start..<min(comments, start + 5000) {
            try tx.create(
              Self.comment(comment), type: "comment",
              fields: ["post": Self.reference(comment % posts), "text": .string("comment \(comment)")])
          }
        }
      }
    }

    deinit { store.close() }

    static func post(_ number: Int) -> RecordID {
      RecordID(zone: Dataset.zone, name: Name("post \(number)"))
    }

    static func comment(_ number: Int) -> RecordID {
      RecordID(zone: Dataset.zone, name: Name("comment \(number)"))
    }

    static func reference(_ post: Int) -> Value {
      .reference(Reference(record: Self.post(post).name, rule: .cascade))
    }
  }

  /// The same posts and comments as rows of SQLite, with an index on a foreign key.
  private static func makePosts(_ directory: String, posts: Int, comments: Int) throws -> DatabasePool {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let pool = try DatabasePool(path: directory + "/db.sqlite")
    try pool.write { database in
      try database.execute(
        sql: """
          CREATE TABLE post (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
          CREATE TABLE comment (
            id TEXT NOT NULL PRIMARY KEY, post TEXT NOT NULL REFERENCES post ON DELETE CASCADE, text TEXT
          ) WITHOUT ROWID;
          CREATE INDEX comment_post ON comment (post);
          """)
      for post in 0..<posts {
        try database.execute(
          sql: "INSERT INTO post VALUES (?)", arguments: [Posts.post(post).name.rawValue])
      }
      for comment in 0..<comments {
        try database.execute(
          sql: "INSERT INTO comment VALUES (?, ?, ?)",
          arguments: [
            Posts.comment(comment).name.rawValue, Posts.post(comment % posts).name.rawValue,
            "comment \(comment)",
          ])
      }
    }
    return pool
  }

  static var references: Case {
    Case(title: "references between records") { place, sizes in
      let comments = sizes.count(100_000)
      let wide = try await Posts(place.path + "/wide", posts: max(1, comments / 10), comments: comments)
      let pool = try makePosts(place.path + "/sqlite", posts: wide.posts, comments: comments)
      let few = try await Posts(place.path + "/few", posts: 1, comments: 1000)
      let many = try await Posts(place.path + "/many", posts: 1, comments: comments)
      return [
        lookUps(wide, pool, count: sizes.count(20_000)),
        changes(wide, count: sizes.count(5000)),
        readings(wide, count: sizes.count(50_000)),
        Comparison(
          title: "deletions and creations of a record that 10⁵ records refer to by a cascade", measure: .time,
          unit: "pairs",
          aims: [Comparison.Aim(than: .other, ratio: 2)], otherwise: "10³", count: sizes.count(2000),
          participants: [
            deletions(.tributary, many, sizes.count(2000)), deletions(.other, few, sizes.count(2000)),
          ]),
      ]
    }
  }

  /// The holders of a record: ten comments of a post, by name.
  private static func lookUps(_ wide: Posts, _ pool: DatabasePool, count: Int) -> Comparison {
    func participant(_ name: Participant.Name, _ look: @escaping (Int) throws -> UInt64) -> Participant {
      var sum: UInt64 = 0
      return Participant(
        name: name, prepare: { sum = 0 },
        turn: { for number in 0..<count { sum &+= try look(number &* 7919 % wide.posts) } },
        finish: { [.read: sum] })
    }
    return Comparison(
      title: "look-ups of the ten records that refer to one", unit: "look-ups", count: count,
      participants: [
        participant(.tributary) { post in
          try wide.store.read { tx in
            try tx.holders(of: Posts.post(post), in: Dataset.zone).reduce(0) {
              $0 &+ UInt64($1.record.name.rawValue.utf8.count)
            }
          }
        },
        participant(.sqlite) { post in
          try pool.read { database in
            let sql = "SELECT id FROM comment WHERE post = ? ORDER BY id"
            let statement = try database.cachedStatement(sql: sql)
            let rows = try String.fetchCursor(statement, arguments: [Posts.post(post).name.rawValue])
            var sum: UInt64 = 0
            while let id = try rows.next() { sum &+= UInt64(id.utf8.count) }
            return sum
          }
        },
      ])
  }

  /// A commit that changes the target of a reference, compared with one that changes a text.
  private static func changes(_ wide: Posts, count: Int) -> Comparison {
    func participant(
      _ name: Participant.Name, _ change: @escaping @Sendable (inout WriteTransaction, Int) throws -> Void
    ) -> Participant {
      var number = 0
      return Participant(
        name: name, prepare: {},
        turn: {
          for _ in 0..<count {
            number += 1
            let step = number
            try wide.store.writeBlockingThisThread { try change(&$0, step) }
          }
        }, finish: { [:] })
    }
    let (posts, comments) = (wide.posts, wide.comments)
    return Comparison(
      title: "commits that give a reference another target", measure: .time, unit: "changes",
      otherwise: "a text", count: count,
      participants: [
        participant(.tributary) { tx, number in
          try tx.set(
            "post", of: Posts.comment(number % comments), to: Posts.reference(number &* 31 % posts))
        },
        participant(.other) { tx, number in
          try tx.set("text", of: Posts.comment(number % comments), to: .string("text \(number)"))
        },
      ])
  }

  /// Whether a record exists that refers to another by a cascade, compared with a record without references.
  private static func readings(_ wide: Posts, count: Int) -> Comparison {
    func participant(_ name: Participant.Name, _ record: @escaping (Int) -> RecordID) -> Participant {
      Participant(
        name: name, prepare: {},
        turn: {
          try wide.store.read { tx in
            for number in 0..<count {
              guard try tx.contains(record(number)) else {
                throw Disagreement(description: "\(record(number)) is hidden")
              }
            }
          }
        }, finish: { [:] })
    }
    let (posts, comments) = (wide.posts, wide.comments)
    return Comparison(
      title: "reads of whether a record exists that has a cascade reference", measure: .time, unit: "reads",
      otherwise: "a record without references", count: count,
      participants: [
        participant(.tributary) { Posts.comment($0 &* 7919 % comments) },
        participant(.other) { Posts.post($0 &* 7919 % posts) },
      ])
  }

  private static func deletions(_ name: Participant.Name, _ store: Posts, _ count: Int) -> Participant {
    Participant(
      name: name, prepare: {},
      turn: {
        for _ in 0..<count {
          try store.store.writeBlockingThisThread { try $0.delete(Posts.post(0)) }
          try store.store.writeBlockingThisThread { try $0.create(Posts.post(0), type: "post") }
        }
      }, finish: { [:] })
  }
}
