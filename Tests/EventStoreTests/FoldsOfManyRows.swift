import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Folds that touch many rows")
struct FoldsOfManyRows {
  let directory = TemporaryDirectory()

  @Test("who makes a record and has not seen its elements reads them and changes none: commits end early")
  func making() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    let elements = (0..<6000).map { number in
      LogOperation.update(record: "r", type: "t", field: "tags", .insert(.int(number)))
    }
    _ = try remote.append([transaction(1, 1, [.create(record: "r", type: "t")] + elements)])
    for replica in 2..<42 as Range<UInt128> {
      _ = try remote.append([transaction(replica, 1, [.create(record: "r", type: "t")])])
    }
    var commits: [Int] = []
    while true {
      let news = try remote.news(for: store)
      if news.isEmpty { break }
      commits.append(try await store.ingest(news).segments)
    }
    #expect(commits.count > 3 && commits.reduce(0, +) == 41)
    #expect(try store.read { try $0.elements(of: "tags", in: note("r")) }?.count == 6000)
    // One that has seen them takes them away.
    _ = try remote.append([transaction(50, 1, base: 41, [.create(record: "r", type: "t")])])
    #expect(try await store.ingest(try remote.news(for: store)).segments == 1)
    #expect(try store.read { try $0.elements(of: "tags", in: note("r")) } == nil)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("who makes a wide record and has not seen its fields reads each block of it once, and writes none")
  func wide() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    let fields = (0..<4000).map { number in
      LogOperation.update(record: "r", type: "t", field: Name("f\(number)"), .set(.int(number)))
    }
    _ = try remote.append([transaction(1, 1, [.create(record: "r", type: "t")] + fields)])
    _ = try await store.ingest(try remote.news(for: store))
    _ = try remote.append([transaction(2, 1, [.create(record: "r", type: "t")])])
    let news = try remote.news(for: store)
    let touched = try await store.perform { store in
      let before = store.storage.touchedRows
      var ingest = RemoteIngest(store)
      var report = IngestReport()
      for segment in news { try ingest.ingest(segment, &report) }
      return store.storage.touchedRows - before
    }
    #expect(touched < 200)
    #expect(try store.read { try $0.record(note("r")) }?.fields.count == 4000)
    _ = try remote.append([transaction(3, 1, base: 2, [.create(record: "r", type: "t")])])
    _ = try await store.ingest(try remote.news(for: store))
    #expect(try store.read { try $0.record(note("r")) }?.fields.count == 0)
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test("who sets fields all over a wide record reads and writes each block of it once")
  func allOver() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    func fields(_ value: Int) -> [LogOperation] {
      // 1,721 and 4,000 have no common divisor: each field once, each in another block than the one before.
      (0..<4000).map { number in
        .update(
          record: "r", type: "t", field: Name("f\(number * 1721 % 4000)"), .set(.int(Int64(number * value))))
      }
    }
    _ = try remote.append([transaction(1, 1, [.create(record: "r", type: "t")] + fields(1))])
    _ = try await store.ingest(try remote.news(for: store))
    _ = try remote.append([transaction(1, 2, fields(7))])
    let news = try remote.news(for: store)
    let touched = try await store.perform { store in
      let before = store.storage.touchedRows
      var ingest = RemoteIngest(store)
      var report = IngestReport()
      for segment in news { try ingest.ingest(segment, &report) }
      return store.storage.touchedRows - before
    }
    #expect(touched < 200)
    let record = try #require(try store.read { try $0.record(note("r")) })
    #expect(record.fields.count == 4000 && record.fields["f1721"] == .int(7))
    let report = try store.verify()
    #expect(report.problems == [])
  }
}
