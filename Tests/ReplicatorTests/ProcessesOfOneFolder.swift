import ChildProcesses
import EventStore
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Processes with stores of their own at one folder, which are killed, paused and cut off", .serialized)
struct ProcessesOfOneFolder {
  /// Few in daily tests; `make processes` runs a thousand.
  private static let rounds = getenv("PROCESS_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 15

  @Test(
    "each reads what it wrote, never goes back, and sees whole transactions in their order; all end equal",
    .timeLimit(.minutes(600)))
  func rounds() async throws {
    let seed = UInt64.random(in: 0...999_999)
    let scratch = TemporaryDirectory()
    let count = Self.rounds < 100 ? 4 : 10
    let remote = try await FolderRemote.create(directory: "\(scratch.path)/remote")
    // What some are led to instead.
    _ = try await FolderRemote.create(directory: "\(scratch.path)/other")
    let devices = try (0..<count).map { number in
      try Device(
        in: scratch.path, "\(number)", seed: seed &* 100 &+ UInt64(number),
        clock: SystemEnvironment.wallMilliseconds, configure: { $0.mapBytes = 256 << 20 })
    }
    // Each store knows its remote: one that knows none would take another in its place.
    for zone in ["notes", "lists"] {
      try await devices[0].set("title", of: "first", to: 1, in: ZoneID(name: Name(zone)))
    }
    try await settle(devices, remote)
    for device in devices { device.store.close() }
    let ran = await ChildProcess.onThread {
      var run = FolderRun(in: scratch.path, count: count, seed: seed)
      for _ in 0..<Self.rounds { run.round() }
      run.end()
      return (histories: run.histories, figures: run.figures)
    }
    for device in devices { try device.reopen() }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
    // Each reads once more.
    var histories = ran.histories
    for (number, device) in devices.enumerated() {
      let run = await ChildProcess.run("look", device.directory, "\(count)")
      #expect(run.end == .exit(0) && run.lines.count == 2)
      for line in run.lines { histories[number].take(line) }
    }
    let anomalies = histories.flatMap(\.anomalies)
    #expect(anomalies == [], "seed \(seed)")
    for history in histories { #expect(history.pictures == histories[0].pictures, "seed \(seed)") }
    let acknowledged = histories.map(\.acknowledgedCount).reduce(0, +)
    let total = histories[0].pictures.values.map(\.total).reduce(0, +)
    print(
      "processes of one folder, seed \(seed): \(ran.figures); \(acknowledged) writes acknowledged, all there; "
        + "\(total - acknowledged) more in the logs; \(histories.map(\.readCount).reduce(0, +)) reads, "
        + "of which \(histories.map(\.newsCount).reduce(0, +)) showed news of others")
    // A process that is killed may have made one write that it did not acknowledge.
    #expect(total >= acknowledged && total <= acknowledged + ran.figures.kills)
    #expect(acknowledged > Self.rounds)
    for history in histories { #expect(history.newsCount > 0, "no news reached one (seed \(seed))") }
  }

  // MARK: What a history shows

  private func history(_ pictures: ClientHistory.Picture...) -> ClientHistory {
    var history = ClientHistory(number: 0)
    history.take("wrote 0 2")
    for picture in pictures { history.take(picture, of: 0) }
    return history
  }

  private func picture(
    _ first: [Int], _ second: [Int]? = nil, total: Int? = nil, last: [String] = ["-", "-"],
    seen: [[Int]] = [[], []]
  ) -> ClientHistory.Picture {
    ClientHistory.Picture(
      total: total ?? first.reduce(0, +), last: last,
      writers: zip(zip(first, second ?? first), seen).map { .init(first: $0.0, second: $0.1, seen: $1) })
  }

  @Test("a history without an anomaly has none")
  func sound() {
    let sound = history(
      picture([2, 0]), picture([2, 1], last: ["1.1", "1.1"], seen: [[0, 0], [1, 0]]), picture([3, 1]))
    #expect(sound.anomalies == [] && sound.readCount == 3 && sound.newsCount == 1)
  }

  @Test("each anomaly is found")
  func anomalies() {
    let anomalies = [
      "half a transaction": history(picture([2, 1], [2, 0])),
      "the total": history(picture([2, 1], total: 4)),
      "records that change together": history(picture([2, 1], last: ["1.1", "0.2"])),
      "without its transaction": history(picture([2, 1], last: ["1.2", "1.2"])),
      "had seen": history(picture([2, 1], seen: [[], [3, 0]])),
      "its own write": history(picture([1, 1])),
      "went back": history(picture([2, 1]), picture([2, 0])),
    ]
    for (text, history) in anomalies {
      #expect(
        history.anomalies.count == 1 && history.anomalies[0].contains(text), "\(text): \(history.anomalies)")
    }
    var printed = history()
    printed.take("zone notes is not in sync")
    #expect(printed.anomalies.count == 1)
  }
}
