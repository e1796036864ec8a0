import Foundation
import Replicator
import StoreTesting
import Testing
import Tributary

@Suite("System fields of rows")
struct SystemFieldsTests {
  let directory = TemporaryDirectory()

  @Test("say who created the record and changed it last, when, and whether that is sent")
  func changes() async throws {
    let remote = try await FolderRemote.create(directory: directory.path + "/remote")
    let (ann, bob) = (try directory.store("ann", schema: 3), try directory.store("bob"))
    func sync() async throws {
      for store in [ann, bob, ann] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    let before = Date(timeIntervalSinceNow: -1)
    let post = try await ann.write { tx in try tx.create(Post.self, in: "blog") { $0.headline = "a" } }
    let made = try #require(try ann.fetch(post)).system
    #expect(made.created == made.modified && made.concurrent == [] && made.isPending)
    #expect(made.modified.replica == ann.local.identity.replica)
    #expect(made.modified.date > before && made.modified.date < Date(timeIntervalSinceNow: 1))
    try await sync()
    let sent = try #require(try ann.fetch(post)).system
    #expect(!sent.isPending && sent.modified == made.modified && sent.created == made.created)
    #expect(try bob.fetch(post)?.system == sent)

    try await bob.write { tx in tx[post].body.set("b") }
    let edited = try #require(try bob.fetch(post)).system
    #expect(edited.created == made.created && edited.isPending)
    #expect(edited.modified.replica == bob.local.identity.replica && edited != sent)
    try await ann.write { tx in tx[post].likes.add(1) }
    try await sync()
    let both = try #require(try ann.fetch(post)).system
    #expect(both == (try bob.fetch(post)?.system) && !both.isPending)
    #expect(Set([both.modified] + both.concurrent).count == 2 && both.concurrent.count == 1)
    #expect(both.created == made.created)
    let listed = try ann.fetch(Post.all)
    #expect(listed.map(\.system) == [both])

    let details = try #require(try bob.details(of: post))
    #expect(details.created?.author == "ann" && details.created?.schema == 3 && details.system == both)
    #expect(details.modified.author == (both.modified == edited.modified ? "bob" : "ann"))
    #expect(try bob.details(of: Ref<Tag>(in: "blog", post.name)) == nil)

    // A record that is deleted and back was created when it was first.
    try await ann.write { tx in try tx.delete(post) }
    try await ann.write { tx in try tx.create(Post.self, in: "blog", named: post.name) }
    let again = try #require(try ann.fetch(post)).system
    #expect(again.created == made.created && again.modified != both.modified)
  }

  @Test("of a local zone, nothing is pending")
  func local() async throws {
    let store = try directory.store()
    let post = try await store.write { tx in try tx.create(Post.self, in: "notes") }
    #expect(try store.fetch(post)?.system.isPending == false)
    // What a write has made so far.
    try await store.write { tx in
      let other = try tx.create(Post.self, in: "blog")
      #expect(try tx.fetch(other)?.system.isPending == true)
      tx[post].headline = "b"
      let row = try #require(try tx.fetch(post))
      #expect(row.system.modified != row.system.created)
    }
  }

  @Test("stay of records that are kept in parts", arguments: [1, 40, 400])
  func parts(fields: Int) async throws {
    let store = try directory.store()
    let post = try await store.write { tx in
      let post = try tx.create(Post.self, in: "blog") { $0.likes.add(1) }
      for number in 0..<fields {
        try tx.set(Name("field \(number)"), of: post.record, to: .string(String(repeating: "x", count: 90)))
      }
      return post
    }
    let made = try #require(try store.fetch(post)).system
    #expect(made.created == made.modified)
    for number in 0..<3 {
      try await store.write { tx in try tx.set(Name("field \(number)"), of: post.record, to: 1) }
    }
    let changed = try #require(try store.fetch(post)).system
    #expect(changed.created == made.created && changed.modified != made.modified)
    #expect(try store.local.verify().problems == [])
  }
}
