import Foundation
import StoreTesting
import Synchronization
import Testing
import Tributary

// The examples of ThePast.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page The past")
struct PastPage {
  // page
  struct Article: Model {
    static let type: Name = "article"
    let title = Field<String>("title")
    let text = ProseField("text")
  }

  struct Version {
    var date: Date
    var author: String
    var label: String
    var position: Position
  }

  /// The last versions of a page, the newest first.
  func versions(of page: Ref<Article>, in store: Store) throws -> [Version] {
    try store.history(of: page, limit: 50).map { entry in
      Version(
        date: entry.arrived, author: entry.transaction.author ?? "", label: entry.transaction.label ?? "",
        position: entry.position)
    }
  }

  func text(of page: Ref<Article>, at version: Version, in store: Store) async throws -> String {
    let then = try await store.snapshot(at: version.position)
    return try then.fetch(page)?.text ?? ""
  }
  // page end

  // page
  /// The pages that were there a week ago and are not now.
  func lostPages(in store: Store) async throws -> [Row<Article>] {
    let then = try await store.snapshot(asOf: Date(timeIntervalSinceNow: -7 * 86_400)) { done, total in
      print("folding \(done) of \(total)")
    }
    return try then.fetch(Article.all).filter { try store.fetch($0.id) == nil }
  }

  /// Which pages have changed since a position.
  func changedPages(since position: Position, in store: Store) throws -> [RecordID] {
    try store.read { tx in
      let changes = try tx.changes(from: position, to: tx.lastPosition())
      return changes.flatMap { zone, changes in
        (changes.records ?? [:]).keys.map { RecordID(zone: zone, name: $0) }
      }
    }
  }

  func restore(_ page: Ref<Article>, to position: Position, in store: Store) async throws {
    struct Content: Codable { var title: String, text: String }
    let then = try await store.snapshot(at: position)
    guard let content = try then.fetch(page)?.decode(Content.self) else { return }
    try await store.write { tx in
      tx.label = "Restore"
      try tx.update(page, with: content)
    }
  }
  // page end

  // page
  /// A list that is read in parts, all of one state.
  final class PagedList {
    private let pin: PinnedRead
    private var cursor: QueryCursor?
    private var isAtEnd = false

    init(_ store: Store) throws {
      pin = try store.pin(
        "list of pages", budget: PinBudget(bytes: 32 << 20, seconds: 60) { use in print(use) })
    }

    func next() throws -> [Row<Article>] {
      if isAtEnd { return [] }
      let part = try pin.page(Article.all.sorted(by: \.title).limit(50).after(cursor))
      (cursor, isAtEnd) = (part.next, part.next == nil)
      return part.rows
    }
  }
  // page end

  /// A clock that begins 30 days ago.
  private final class Clock: Sendable {
    let milliseconds = Mutex(Int64(Date.now.timeIntervalSince1970 * 1000) - 30 * 86_400_000)
  }

  @Test("versions are listed, read and restored")
  func restores() async throws {
    let directory = TemporaryDirectory()
    var configuration = StoreConfiguration()
    let clock = Clock()
    configuration.wallMilliseconds = { clock.milliseconds.withLock { $0 } }
    let store = try Store(
      directory.path + "/store", .consistent, models: [Article.self], zones: [.local("pages")], author: "ann",
      configuration: configuration)
    let page = try await store.write { tx in try tx.create(Article.self, in: "pages") { $0.title = "first" } }
    let start = try #require(try versions(of: page, in: store).first?.position)
    try await store.write { tx in
      tx.label = "Write"
      tx[page].text.append("text")
    }
    let found = try versions(of: page, in: store)
    #expect(found.map(\.label) == ["Write", ""] && found[0].author == "ann")
    #expect(try await text(of: page, at: found[0], in: store) == "text")
    #expect(try await text(of: page, at: found[1], in: store) == "")
    clock.milliseconds.withLock { $0 += 29 * 86_400_000 }
    let list = try PagedList(store)
    try await store.write { tx in try tx.delete(page) }
    #expect(try await lostPages(in: store).map(\.title) == ["first"])
    #expect(try changedPages(since: start, in: store) == [page.record])
    #expect(try list.next().map(\.title) == ["first"])
    #expect(try list.next().isEmpty)
    try await store.undo(try store.read { try $0.lastPosition() })
    try await store.write { tx in tx[page].title = "second" }
    try await restore(page, to: start, in: store)
    let row = try store.fetch(page)
    #expect(row?.title == "first" && row?.text == "")
  }
}
