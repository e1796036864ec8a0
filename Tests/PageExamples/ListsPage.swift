import Foundation
import LiveQueries
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
  @MainActor @Observable
  final class OpenChores {
    private(set) var rows: [Row<Chore>] = []

    /// Call it in a task that lives as long as the screen, as in `.task { try? await chores.follow(store) }`.
    func follow(_ store: Store, _ filter: ChoreFilter = ChoreFilter()) async throws {
      for try await rows in store.values(of: filter.query.limit(50)) { self.rows = rows }
    }
  }
  // page end

  // page
  func follow(_ store: Store, in table: inout [String]) async throws {
    for try await update in store.changes(of: Chore.all.sorted(by: \.title)) {
      for place in update.removed.reversed() { table.remove(at: place) }
      for place in update.inserted { table.insert(update.rows[place].title, at: place) }
      if update.origins.contains(.remote) { print("another device changed the list") }
      if !update.moved.isEmpty || !update.updated.isEmpty { table = update.rows.map(\.title) }
      if table.count == 3 { break }
    }
  }
  // page end

  // page
  func showBadge(_ store: Store, _ show: @Sendable (Int) -> Void) async throws {
    let counts = store.values { tx in try tx.count(Chore.where { $0.isDone == false }) }
    for try await count in counts { show(count) }
  }
  // page end

  // page
  @MainActor
  final class ChoreScreen {
    let chores: LiveQuery<[Row<Chore>]>
    let open: LiveQuery<Int>

    init(_ store: Store) {
      chores = LiveQuery(ChoreFilter().query.limit(50), in: store)
      open = LiveQuery(in: store, default: 0) { tx in try tx.count(Chore.where { $0.isDone == false }) }
    }

    /// The user has chosen another filter.
    func apply(_ filter: ChoreFilter) { chores.follow(filter.query.limit(50)) }
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

  @Test("lists that keep themselves fresh") @MainActor
  func following() async throws {
    let store = try Store(directory.path + "/a", .consistent, models: [Chore.self], zones: [.synced("home")])
    let open = OpenChores()
    let screen = ChoreScreen(store)
    let tasks = [Task { try await open.follow(store) }]
    let (counts, feed) = AsyncStream.makeStream(of: Int.self)
    let badge = Task { try await showBadge(store) { feed.yield($0) } }
    let table = Task { () async throws -> [String] in
      var table: [String] = []
      try await follow(store, in: &table)
      return table
    }
    for title in ["b", "c", "a"] {
      try await store.write { tx in try tx.create(Chore.self, in: "home") { $0.title = title } }
    }
    for await count in counts where count == 3 { break }
    #expect(try await table.value == ["a", "b", "c"])
    while open.rows.count < 3 { await Task.yield() }
    while screen.chores.value.count < 3 || screen.open.value < 3 { await Task.yield() }
    screen.apply(ChoreFilter(text: "b"))
    #expect(screen.chores.value.map(\.title) == ["b"])
    store.close()
    for task in tasks { try await task.value }
    try await badge.value
  }
}
