import Foundation
import Observation
import StoreTesting
import Synchronization
import Testing
import Tributary

// The examples of ShowingLists.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Showing lists")
struct ListsPage {
  // page
  struct Chore: Model {
    static let type: Name = "chore"
    let title = Field<String>("title")
    let due = Field<Date?>("due").indexed
    let isDone = Field<Bool>("isDone")
    let steps = ListField<String>("steps")

    static let indexes: [Index] = [Index { [$0.title.folded] }]
  }

  struct ChoreFilter: Equatable {
    var text = ""
    var hidesDone = true
    var byTitle = false

    var query: Query<Chore> {
      var query = Chore.all.in("home")
      if hidesDone { query = query.where { $0.isDone == false } }
      if !text.isEmpty { query = query.where { $0.title.hasWords(text, lastIsPrefix: true) } }
      return byTitle ? query.sorted(by: \.title.folded) : query.sorted(by: \.due)
    }
  }
  // page end

  // page
  @MainActor @Observable
  final class ChoreList {
    private(set) var rows: [Row<Chore>] = []
    private(set) var filter = ChoreFilter()
    private var next: QueryCursor?
    private let store: Store
    private let pageSize: Int

    init(_ store: Store, pageSize: Int = 50) throws {
      (self.store, self.pageSize) = (store, pageSize)
      try refresh()
    }

    var hasMore: Bool { next != nil }

    /// Reads again what is shown.
    func refresh() throws { try show(max(rows.count, pageSize)) }

    /// Shows another order or choice, from its start.
    func apply(_ filter: ChoreFilter) throws {
      self.filter = filter
      try show(pageSize)
    }

    /// Reads the next page: when the last row appears.
    func loadMore() throws {
      guard let next else { return }
      let page = try store.page(filter.query.limit(pageSize).after(next))
      rows += page.rows
      self.next = page.next
    }

    private func show(_ count: Int) throws {
      let page = try store.page(filter.query.limit(count))
      (rows, next) = (page.rows, page.next)
    }
  }
  // page end

  // page
  func finish(_ step: ListElement<String>, of chore: Ref<Chore>, in store: Store) async throws {
    try await store.write { tx in tx[chore].steps.remove(id: step.id) }
  }
  // page end

  // page
  func subtitle(of chore: Row<Chore>, in store: Store) throws -> String {
    let when = chore.system.modified.date.formatted(.iso8601)
    let who = try store.details(of: chore.id)?.modified.author ?? "somebody"
    return "\(when) by \(who)\(chore.system.isPending ? ", not sent yet" : "")"
  }
  // page end

  // page
  func watch(
    _ store: Store, every interval: Duration, _ changed: @Sendable () async throws -> Void
  ) async throws {
    var last = try store.read { try $0.lastPosition() }
    while true {
      try await Task.sleep(for: interval)
      let now = try store.read { try $0.lastPosition() }
      guard now != last else { continue }
      last = now
      try await changed()
    }
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("page, sort and filter a list, and keep it fresh") @MainActor
  func lists() async throws {
    let store = try Store(directory.path + "/a", .consistent, models: [Chore.self], zones: [.synced("home")])
    let day = Date(timeIntervalSince1970: 1_800_000_000)
    let chores = try await store.write { tx in
      try ["Wash", "dishes", "Windows", "Floor"].enumerated().map { index, title in
        try tx.create(Chore.self, in: "home") {
          $0.title = title
          $0.due = day.addingTimeInterval(Double(-index))
          $0.steps.append("begin")
        }
      }
    }
    let list = try ChoreList(store, pageSize: 2)
    #expect(list.rows.map(\.title) == ["Floor", "Windows"] && list.hasMore)
    // What others write meanwhile neither repeats nor skips a row.
    try await store.write { tx in
      try tx.create(Chore.self, in: "home") { ($0.title, $0.due) = ("Roof", day.addingTimeInterval(-9)) }
    }
    try list.loadMore()
    #expect(list.rows.map(\.title) == ["Floor", "Windows", "dishes", "Wash"])
    try list.refresh()
    #expect(list.rows.map(\.title) == ["Roof", "Floor", "Windows", "dishes"] && list.hasMore)
    try list.apply(ChoreFilter(text: "w", byTitle: true))
    #expect(list.rows.map(\.title) == ["Wash", "Windows"])
    let plan = try store.explain(ChoreFilter(byTitle: true).query.limit(50))
    #expect(plan.index == "chore: folded title" && plan.sort.isEmpty, "\(plan)")

    let row = try #require(try store.fetch(chores[0]))
    try await finish(row.steps[0], of: row.id, in: store)
    try await finish(row.steps[0], of: row.id, in: store)
    #expect(try store.fetch(chores[0])?.steps.isEmpty == true)
    let text = try subtitle(of: row, in: store)
    #expect(text.hasSuffix("Z by somebody, not sent yet"), "\(text)")
  }

  @Test("notice a commit") func watching() async throws {
    let store = try Store(directory.path + "/a", .consistent, models: [Chore.self], zones: [.synced("home")])
    let (changes, feed) = AsyncStream.makeStream(of: Void.self)
    let task = Task { try await watch(store, every: .milliseconds(5)) { feed.yield() } }
    try await Task.sleep(for: .milliseconds(50))
    try await store.write { tx in try tx.create(Chore.self, in: "home") }
    for await _ in changes { break }
    task.cancel()
  }
}
