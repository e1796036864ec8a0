import LiveQueries
import Observation
import StoreTesting
import Synchronization
import Testing

private struct Song: Model {
  static let type: Name = "song"
  let title = Field<String>("title").indexed
  let plays = Field<Int>("plays")
}

@Suite("Live queries", .timeLimit(.minutes(20)))
@MainActor
struct LiveQueryTests {
  let directory = TemporaryDirectory()

  private func store() throws -> Store {
    try Store(directory.path + "/store", .consistent, models: [Song.self], zones: [.local("music")])
  }

  /// Waits until a condition holds; each change of what it reads is a reason to look again.
  private func wait(until condition: @MainActor @escaping () -> Bool) async {
    while true {
      let (changes, change) = AsyncStream.makeStream(of: Void.self)
      if withObservationTracking(condition, onChange: { change.yield() }) { return }
      for await _ in changes { break }
    }
  }

  private func add(_ titles: String..., to store: Store) async throws {
    try await store.write { tx in
      for title in titles { _ = try tx.create(Song.self, in: "music") { $0.title = title } }
    }
  }

  @Test(
    "it has its rows when it is made, and those of each commit after, and of another query when it follows one"
  )
  func rows() async throws {
    let store = try store()
    try await add("b", "c", to: store)
    let songs = LiveQuery(Song.all.sorted(by: \.title), in: store)
    #expect(songs.value.map(\.title) == ["b", "c"])
    try await add("a", to: store)
    await wait { songs.value.map(\.title) == ["a", "b", "c"] }
    songs.follow(Song.where { $0.title > "a" }.sorted(by: \.title, .reverse))
    #expect(songs.value.map(\.title) == ["c", "b"])
    try await add("d", to: store)
    await wait { songs.value.map(\.title) == ["d", "c", "b"] }
    #expect(songs.error == nil)
  }

  @Test("it tells its observers of other values alone")
  func otherValues() async throws {
    let store = try store()
    let count = LiveQuery(in: store, default: -1) { tx in try tx.count(Song.where { $0.plays > 10 }) }
    let told = Mutex(0)
    withObservationTracking({ _ = count.value }, onChange: { told.withLock { $0 += 1 } })
    try await add("a", "b", to: store)
    let all = LiveQuery(in: store, default: -1) { tx in try tx.count(Song.all) }
    try await add("c", to: store)
    await wait { all.value == 3 }
    #expect(told.withLock { $0 } == 0 && count.value == 0)
    try await store.write { tx in _ = try tx.create(Song.self, in: "music") { $0.plays = 11 } }
    await wait { count.value == 1 }
    #expect(told.withLock { $0 } == 1)
  }

  @Test("it follows a record, which may come later and go")
  func record() async throws {
    let store = try store()
    let id = Ref<Song>(in: "music", "anthem")
    let song = LiveQuery(id, in: store)
    #expect(song.value == nil)
    try await store.write { tx in
      _ = try tx.create(Song.self, in: "music", named: "anthem") { $0.title = "Anthem" }
    }
    await wait { song.value?.title == "Anthem" }
    try await store.write { tx in try tx.delete(id) }
    await wait { song.value == nil }
  }

  @Test("an error of its closure is shown, and ends it until it follows another one")
  func errors() async throws {
    struct TooMany: Error {}
    let store = try store()
    let count = LiveQuery(in: store, default: 0) { tx in
      let count = try tx.count(Song.all)
      if count > 1 { throw TooMany() }
      return count
    }
    try await add("a", to: store)
    await wait { count.value == 1 }
    try await add("b", to: store)
    await wait { count.error is TooMany }
    #expect(count.value == 1)
    count.follow { tx in try tx.count(Song.all) }
    #expect(count.value == 2 && count.error == nil)
    store.close()
    let late = LiveQuery(Song.all, in: store)
    #expect(late.value == [] && late.error == nil)
  }

  @Test("one that is released reads no more, and lets its store go")
  func released() async throws {
    weak var weakStore: Store?
    let reads = Mutex(0)
    do {
      let store = try store()
      weakStore = store
      var count: LiveQuery<Int>? = LiveQuery(in: store, default: 0) { tx in
        reads.withLock { $0 += 1 }
        return try tx.count(Song.all)
      }
      try await add("a", to: store)
      await wait { count?.value == 1 }
      count = nil
      let before = reads.withLock { $0 }
      try await add("b", to: store)
      let other = LiveQuery(in: store, default: 0) { tx in try tx.count(Song.all) }
      try await add("c", to: store)
      await wait { other.value == 3 }
      #expect(reads.withLock { $0 } == before)
    }
    while weakStore != nil { await Task.yield() }
  }
}
