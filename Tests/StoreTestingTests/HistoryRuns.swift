import OperationFormat
import Testing

@testable import StoreTesting

@Suite("Many writers' histories")
struct HistoryRuns {
  /// A history whose final tree was changed.
  private struct Tampered: HistorySource {
    let history: GeneratedHistory
    let change: HistoryChange

    func survey() throws -> HistorySurvey { try history.survey() }
    func makeReader() throws -> any HistoryReader { try history.makeReader() }
    func finalTree() throws -> HistoryTree {
      var tree = try history.finalTree()
      tree.apply(change)
      return tree
    }
  }

  private struct Stopped: Error {}

  private typealias Schedule = (devices: Int, syncEvery: Int, offline: Double)
  private static let schedules: [Schedule] = WideTests.choose(
    [1, 3, 16].flatMap { devices in [1, 7].flatMap { every in [0, 0.7].map { (devices, every, $0) } } },
    otherwise: [(1, 7, 0.7), (3, 1, 0.7), (16, 7, 0)])

  private func options(
    _ schedule: (devices: Int, syncEvery: Int, offline: Double), _ remote: RunnerRemote, seed: UInt64
  ) -> HistoryOptions {
    var options = HistoryOptions(remote: remote)
    (options.devices, options.syncEvery, options.offlineChance) = schedule
    options.seed = seed
    return options
  }

  @Test(
    "end equal on every device, for any schedule of syncs and any remote", .serialized,
    arguments: schedules,
    [3] as [UInt64])
  func endEqual(schedule: (devices: Int, syncEvery: Int, offline: Double), seed: UInt64) async throws {
    let temporary = TemporaryDirectory()
    let history = GeneratedHistory(commits: 60, seed: seed)
    var reports: [HistoryReport] = []
    for remote in [RunnerRemote.memory, .folder(directory: temporary.path + "/remote")] {
      let report = try await HistoryRunner(options(schedule, remote, seed: seed)).run(history)
      #expect(report.difference == nil, "seed \(seed), \(schedule): \(report.difference?.description ?? "")")
      #expect(report.commits == 60)
      #expect(report.devices.count == schedule.devices)
      #expect(report.files == (try history.finalTree().count))
      #expect(report.segments > 0 && report.bytesShipped > 0 && report.remoteCalls > 0)
      #expect(report.mostContested != nil)
      // Every transaction reaches every other device once.
      #expect(report.folded == report.transactions * (schedule.devices - 1))
      if schedule.devices == 1 || schedule.syncEvery == 1 && schedule.offline == 0 {
        #expect(report.conflicts == 0)
      }
      reports.append(report)
    }
    // One seed determines everything, and the remote does not matter.
    #expect(reports[0].stateDigest == reports[1].stateDigest, "seed \(seed), \(schedule)")
  }

  @Test("a device for each author, and authors' clocks if only causality decides")
  func followsCausality() async throws {
    let history = GeneratedHistory(commits: 120, seed: 9)
    var options = HistoryOptions(remote: .memory)
    options.clock = .author
    let report = try await HistoryRunner(options).run(history)
    #expect(report.difference == nil, "\(report.difference?.description ?? "")")
    #expect(report.devices.count == (try history.survey().authors))
    #expect(report.conflicts == 0)
  }

  @Test("wrong authors' clocks are noticed if not only causality decides")
  func showsWrongClocks() async throws {
    var options = HistoryOptions(remote: .memory)
    options.clock = .author
    options.syncEvery = 9
    options.offlineChance = 0.7
    let report = try await HistoryRunner(options).run(GeneratedHistory(commits: 200, seed: 9))
    let difference = try #require(report.difference)
    // The devices still agree: only the tree differs.
    #expect(difference.device == "d000")
    #expect(!difference.place.hasPrefix("zone"))
  }

  @Test("concurrent edits leave conflicts, and the most contested record has some")
  func leavesConflicts() async throws {
    let report = try await HistoryRunner(options((8, 7, 0.7), .memory, seed: 2)).run(
      GeneratedHistory(commits: 150, seed: 2))
    #expect(report.conflicts > 0)
    #expect(report.difference == nil)
  }

  @Test("a planted difference is found: an additional, a missing, or a changed file")
  func findsDifferences() async throws {
    let history = GeneratedHistory(commits: 60, seed: 5)
    let files = try history.finalTree().files
    let (last, content) = try #require(files.last)
    let path = Array(last.id.name.rawValue.utf8)
    var other = content
    other.mode = "100600"
    let changes = [
      HistoryChange(path: Array("docs/none".utf8), content: content), HistoryChange(path: path, content: nil),
      HistoryChange(path: path, content: other), HistoryChange(path: Array("zzz".utf8), content: content),
    ]
    for change in changes {
      let report = try await HistoryRunner(options((3, 7, 0), .memory, seed: 5)).run(
        Tampered(history: history, change: change))
      let difference = try #require(report.difference)
      #expect(difference.place == "\(HistoryRecord(path: change.path).id)")
      #expect((difference.found == "no such record") == (change.content?.mode == content.mode))
      #expect((difference.expected == "no such record") == (change.content == nil))
    }
  }

  @Test("a path that is not a valid name becomes its hash, with the path in a field")
  func namesPaths() {
    let long = Array((String(repeating: "d", count: 200) + "/" + String(repeating: "e", count: 100)).utf8)
    let record = HistoryRecord(path: long)
    #expect(record.id.zone.name.rawValue.utf8.count == 64)
    #expect(record.id.name.rawValue.utf8.count == 64)
    #expect(record.path == .string(String(decoding: long, as: UTF8.self)))
    #expect(HistoryRecord(path: [0x61, 0x2f, 0xff]).path == .bytes([0x61, 0x2f, 0xff]))
    #expect(HistoryRecord(path: [0x61, 0x2f, 0xff]).id.zone.name == "a")
    #expect(HistoryRecord(path: Array("a/b".utf8)).path == nil)
    #expect(HistoryRecord(path: []).id.name.rawValue.utf8.count == 64)
  }

  @Test("a run ends when its user ends it")
  func stops() async throws {
    await #expect(throws: Stopped.self) {
      _ = try await HistoryRunner(HistoryOptions(remote: .memory)).run(GeneratedHistory(commits: 20, seed: 1))
      { step in
        if step.done == 5 { throw Stopped() }
      }
    }
  }

  @Test("a generated history is the same each time, and has deletes, re-creations and reverts")
  func generates() throws {
    let history = GeneratedHistory(commits: 300, seed: 8)
    var reader = try history.makeReader()
    var again = try history.makeReader()
    var deletes = 0
    var recreations = 0
    var reverts = 0
    var gone: Set<[UInt8]> = []
    var seen: [[UInt8]: Set<HistoryContent>] = [:]
    while let commit = try reader.next() {
      let same = try again.next()
      #expect(same == commit)
      for change in commit.changes {
        guard let content = change.content else {
          deletes += 1
          gone.insert(change.path)
          continue
        }
        if gone.remove(change.path) != nil { recreations += 1 }
        if !seen[change.path, default: []].insert(content).inserted { reverts += 1 }
      }
    }
    #expect(deletes > 20 && recreations > 20 && reverts > 20)
  }
}
