import EventStore
import Foundation
import LiveQueries
import Replicator
import StoreTesting
import Tributary

// The examples in comments of public types are between the marks, which have the file's name. They are
// compiled, and not run.

private func localStore() async throws {
  // comment LocalStore.swift
  let store = try LocalStore(directory: "notes.store", durability: .durable)
  let note = RecordID(zone: ZoneID(name: "notes"), name: "first")
  try await store.write { tx in
    try tx.createZone(note.zone)
    try tx.create(note, type: "note", fields: ["title": "Hello"])
  }
  let title = try store.read { tx in try tx.value(of: "title", in: note) }
  // comment end
  _ = title
}

private func retireHistory(_ store: LocalStore) async throws {
  // comment LocalStore+Snapshots.swift
  // Keeps a month, and of a zone with much of it at most 100 MiB.
  try await store.retireHistory(
    keeping: HistoryPolicy(millisecondsMax: 30 * 86_400_000, logBytesMax: 100 << 20))
  // comment end
}

private func writeTransaction(_ store: LocalStore, _ task: RecordID) async throws {
  // comment WriteTransaction.swift
  try await store.write { tx in
    try tx.create(task, type: "task")
    try tx.set("title", of: task, to: "Buy milk")
  }
  // comment end
}

private func recordReading() {
  // comment RecordReading.swift
  func isDone(_ task: RecordID, _ tx: borrowing some RecordReading & ~Copyable) throws -> Bool {
    try tx.value(of: "done", in: task) == true
  }
  // comment end
}

private func undoing(_ store: LocalStore) async throws {
  // comment StoreUndoManager.swift
  let undoManager = store.undoManager(author: "ann")
  if try undoManager.canUndo { try await undoManager.undo() }
  // comment end
}

private func written(_ store: LocalStore, _ message: RecordID) async throws {
  // comment Written.swift
  let sent = try await store.write { tx in
    try tx.set("body", of: message, to: "Hello")
    return tx.written
  }
  try await store.receipt(of: sent) { $0.isShipped }
  // comment end
}

private func pinning(_ store: LocalStore, _ firstPage: RecordQuery, _ secondPage: RecordQuery) throws {
  // comment PinnedRead.swift
  let inbox = try store.pin("inbox")
  let first = try inbox.read { tx in try tx.hits(firstPage) }
  // Rounds of sync go by.
  let second = try inbox.read { tx in try tx.hits(secondPage) }
  // comment end
  _ = (first, second)
}

private func restoring(_ conflicts: [Conflict], _ tx: inout WriteTransaction) throws {
  // comment WriteTransaction+Restoring.swift
  for conflict in conflicts {
    try tx.restore(conflict.losers[0].operation, in: conflict.field, of: conflict.record)
  }
  // comment end
}

private func reducer(_ store: LocalStore, _ account: RecordID) throws {
  // comment ContributionReducer.swift
  let balance = ContributionReducer(of: "moves", initial: 0) { (balance: inout Int64, move) in
    if case .int(let amount) = move.payload, balance + amount >= 0 { balance += amount }
  }
  let left = try store.read { try balance.result(of: account, in: $0) }
  // comment end
  _ = left
}

private func assetReader(_ store: LocalStore, _ reference: AssetReference, send: ([UInt8]) -> Void) throws {
  // comment AssetReader.swift
  var photo = try store.openAsset(reference)
  while let piece = try photo.next() { send(piece) }
  // comment end
}

private func assets(_ store: LocalStore, _ person: RecordID) async throws {
  // comment LocalStore+Assets.swift
  let photo = try await store.importAsset(file: "/tmp/photo.jpg")
  try await store.write { tx in try tx.set("photo", of: person, to: .asset(photo)) }
  // comment end
}

private func folderRemote() async throws {
  // comment FolderRemote.swift
  // Once, on the first device; then on all.
  let made = try await FolderRemote.create(directory: "/mnt/team/lists")
  let remote = FolderRemote(directory: "/mnt/team/lists")
  // comment end
  _ = (made, remote)
}

private func logReplicator(_ store: LocalStore) async throws {
  // comment LogReplicator.swift
  let remote = FolderRemote(directory: "/mnt/team/notes")
  let replicator = LogReplicator(store: store, remote: remote)
  let report = try await replicator.syncOnce()
  // comment end
  _ = report
}

private func show(_ status: SyncStatus) {}

private func statuses(_ replicator: LogReplicator) async {
  // comment LogReplicator+Status.swift
  for await status in replicator.statuses { show(status.whole) }
  // comment end
}

private typealias MyWorkload = ShoppingWorkload

private func simulation() {
  // comment Simulation.swift
  let simulation = Simulation(SimulationOptions(workloads: [MyWorkload()]))
  for seed in 1...1000 as ClosedRange<UInt64> {
    if let failure = simulation.run(seed: seed).failure { print(seed, failure) }
  }
  // comment end
}

private func scenarioRunner(_ text: String) async throws {
  // comment ScenarioRunner.swift
  let runner = ScenarioRunner(remote: .memory)
  for scenario in try ScenarioFile.parse(yaml: text).scenarios { print(await runner.run(scenario).line) }
  // comment end
}

private func foldCheck() {
  // comment FoldCheck.swift
  let report = FoldCheck(seed: 1).run(sequences: 0..<10_000)
  if let failure = report.failure { print(failure) }
  // comment end
}

private enum Models {
  struct Item: Codable { var done = false }
  struct Tag: Model { static let type: Name = "tag" }

  // comment FieldValue.swift
  enum Status: String, FieldValue { case open, done }
  // comment end

  enum Short {
    // comment Model.swift
    struct Post: Model {
      static let type: Name = "post"
      let headline = Field<String>("headline", default: "untitled")
      let date = Field<Date>("date")
      let likes = CounterField("likes")
    }
    // comment end
  }

  struct Post: Model {
    static let type: Name = "post"
    let headline = Field<String>("headline", default: "untitled")
    let date = Field<Date>("date")
    let likes = CounterField("likes")
    let tags = SetField<Ref<Tag>>("tags", .nullify)
    let items = ListField<Item>("items")
    // comment ReducedField.swift
    let stars = ReducedField<Int, Int>("stars", initial: 0) { $0 += $1 }
    // comment end
  }

  static func store() async throws {
    // comment Store.swift
    let store = try Store("notes.store", .durable, models: [Post.self, Tag.self], zones: [.synced("blog")])
    let post = try await store.write { tx in try tx.create(Post.self, in: "blog") { $0.headline = "Hello" } }
    print(try store.fetch(post)?.headline ?? "")
    // comment end
  }

  @MainActor
  static func liveQuery(_ store: Store) {
    // comment LiveQuery.swift
    let posts = LiveQuery(Post.all.sorted(by: \.date, .reverse).limit(20), in: store)
    let liked = LiveQuery(in: store, default: 0) { tx in try tx.count(Post.where { $0.likes > 9 }) }
    // comment end
    _ = (posts, liked)
  }

  static func row(_ store: Store) throws {
    // comment Row.swift
    for row in try store.fetch(Post.self, in: "blog") { print(row.headline, row.likes, row.items.count) }
    // comment end
  }

  static func editor(_ store: Store, _ post: Ref<Post>, _ swift: Ref<Tag>) async throws {
    // comment Editor.swift
    try await store.write { tx in
      tx[post].headline = "Hello"
      tx[post].likes.add(1)
      tx[post].tags.insert(swift)
    }
    // comment end
  }

  static func write(_ tx: inout WriteTransaction, _ milk: UnitReference) throws {
    // comment WriteTransaction+Models.swift
    let post = try tx.create(Post.self, in: "blog") { $0.headline = "Hello" }
    // comment end
    // comment ListEditor.swift
    tx[post].items[id: milk]?.done = true
    // comment end
  }

  static func queries(_ store: Store, _ swift: Ref<Tag>) throws {
    // comment Query.swift
    let recent = Post.where { $0.tags.contains(swift) && $0.headline.hasPrefix("A") }
      .sorted(by: \.date, .reverse).limit(20)
    for row in try store.fetch(recent) { print(row.headline) }
    // comment end
    // comment RefColumn.swift
    let open = Post.where { $0.items.any { $0["done"] == false } }
    // comment end
    _ = open
  }

  static func structs(_ row: Row<Post>, _ tx: inout WriteTransaction) throws {
    // comment Row+Decoding.swift
    struct Summary: Codable { var headline: String, likes: Int, tags: Set<Ref<Tag>> }
    let summary = try row.decode(Summary.self)
    // comment end
    try update(row, &tx)
    _ = summary
    func update(_ row: Row<Post>, _ tx: inout WriteTransaction) throws {
      // comment WriteTransaction+Structs.swift
      var summary = try row.decode(Summary.self)
      summary.headline = "Hello"
      try tx.update(row.id, with: summary)
      // comment end
    }
  }

  static func conflicts(_ post: Ref<Post>, _ tx: inout WriteTransaction) throws {
    // comment WriteTransaction+Conflicts.swift
    for conflict in try tx.conflicts(of: post) { try tx.keep(conflict.losers[0], of: conflict) }
    // comment end
  }
}

private func indexes(_ store: LocalStore) async throws {
  // comment IndexDefinition.swift
  let byDate = IndexDefinition("by date", of: ["post"], by: [IndexPart(.value(.value(of: "date")))])
  try await store.declareIndexes([byDate])
  // comment end
}

private enum IndexExamples {
  // comment ModelIndex.swift
  struct Post: Model {
    static let type: Name = "post"
    let headline = Field<String>("headline")
    let date = Field<Date>("date").indexed
    let author = Field<Ref<Person>?>("author", .nullify)
    let tags = SetField<String>("tags").indexed

    static let indexes: [Index] = [Index { [$0.author, $0.date.descending] }]
  }
  // comment end

  struct Person: Model {
    static let type: Name = "person"
    let name = Field<String>("name")
  }
}

private struct Event: Model {
  static let type: Name = "event"
  let title = Field<String>("title")
  let start = Field<Date>("start")
  let end = Field<Date?>("end")
  let isCancelled = Field<Bool>("isCancelled")
}

private func each(_ store: Store, today: Date) throws {
  // comment EachQuery.swift
  let agenda = Event.each(Date.self) { [$0.start, $0.end] }
    .where { event, date in date >= today && event.isCancelled == false }
    .sorted().limit(50)
  for entry in try store.fetch(agenda) {
    print(entry.value, entry.place == 0 ? "begins" : "ends", entry.row.title)
  }
  // comment end
}

private enum Evolving {
  enum Priority: String, FieldValue { case normal, high }

  static func fields() {
    // comment Field.swift
    let priority = Field<Priority>("priority", default: .normal)
      .upcasting(.values([true: "high", false: "normal"]))
    let year = Field<Int>("year").upcasting(.number)  // it was a text
    // comment end
    _ = (priority, year)
  }

  static func lists() {
    struct Item: Codable, Hashable, Sendable {
      var text: String
    }
    // comment ListField.swift
    let items = ListField<Item>("items").mergingMembers
    // comment end
    _ = items
  }

  struct Article: Model {
    static let type: Name = "article"
    let headline = Field<String>("headline")
    let slug = Field<String>("slug")
  }

  static func migrate(_ store: Store) async throws {
    // comment Store+Migrating.swift
    let waiting = try await store.migrate(
      to: 3, [.records(of: Article.self) { tx, article in tx[article].slug = slug(of: tx[article].headline) }]
    )
    // comment end
    _ = waiting
  }

  enum Family {
    // comment Submodel.swift
    struct Post: Model {
      static let type: Name = "post"
      static let submodels: [any Model.Type] = [ImagePost.self]
      let headline = Field<String>("headline")
    }

    struct ImagePost: Submodel {
      static let type: Name = "image post"
      let parent = Post()
      let image = Field<String>("image")
    }
    // comment end
  }

  static func down(_ row: Row<Family.Post>, _ store: Store) throws {
    typealias ImagePost = Family.ImagePost
    // comment Row+Submodel.swift
    if let image = try row.ref(as: ImagePost.self).flatMap({ try store.fetch($0) }) { print(image.image) }
    // comment end
  }
}

private enum Observing {
  struct Post: Model {
    static let type: Name = "post"
    let date = Field<Date>("date")
  }

  struct Todo: Model {
    static let type: Name = "todo"
    let isDone = Field<Bool>("isDone")
  }

  static func observe(_ store: Store, _ post: Ref<Post>, _ local: LocalStore, _ zone: ZoneID) async throws {
    func show(_ shown: some Any) {}
    func insert(_ row: Row<Post>, at place: Int) {}
    var badge = 0
    // comment Commits.swift
    for await commit in store.commits where commit.mayHaveChanged(post.record) { show(try store.fetch(post)) }
    // comment end
    // comment LocalStore+Reading.swift
    for try await titles in local.values({ tx in try tx.records(in: zone).map { $0["title"] } }) {
      show(titles)
    }
    // comment end
    // comment Store+Observing.swift
    for try await rows in store.values(of: Post.all.sorted(by: \.date, .reverse).limit(20)) { show(rows) }
    // comment end
    // comment Store+Observing.swift
    for try await update in store.changes(of: Post.all) {
      for place in update.inserted { insert(update.rows[place], at: place) }
    }
    // comment end
    // comment Store+Observing.swift
    for try await open in store.values({ tx in try tx.count(Todo.where { $0.isDone == false }) }) {
      badge = open
    }
    // comment end
    _ = badge
  }
}

private func slug(of text: String) -> String { text.lowercased().replacing(" ", with: "-") }
