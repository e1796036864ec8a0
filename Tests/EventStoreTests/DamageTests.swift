import ChildProcesses
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Damaged data files", .serialized)
struct DamageTests {
  let directory = TemporaryDirectory()

  /// Damages copies of a small store's file in other processes; returns the outcomes, and how the processes
  /// ended.
  private func run(
    _ seeds: Range<UInt64>, _ mode: String
  ) -> (outcomes: [String: Int], ends: [ChildProcess.End]) {
    let path = directory.path + "/store"
    let writer = ChildProcess("write", path, "fixed", "a", "1", "50")
    #expect(writer.lines().last == "done")
    _ = writer.wait()
    let summary = ChildProcess("summary", path).lines().last ?? ""
    #expect(summary.count == 64)
    var outcomes: [String: Int] = [:]
    var ends: [ChildProcess.End] = []
    var next = seeds.lowerBound
    while next < seeds.upperBound {
      let child = ChildProcess(
        "damage", path + "/data.mdb", directory.path + "/work", summary, "\(next)",
        "\(seeds.upperBound)", mode)
      var last = next
      var isDone = false
      while let line = child.line() {
        let words = line.split(separator: " ")
        if line == "done" {
          isDone = true
        } else if words.count == 2 {
          last = UInt64(words[0]) ?? last
        } else if words.count > 2 {
          outcomes[words[2...].joined(separator: " "), default: 0] += 1
        }
      }
      if isDone {
        _ = child.wait()
        break
      }
      // It hangs or has ended.
      child.send(SIGKILL)
      let end = child.wait()
      ends.append(end)
      if end != .signal(SIGABRT) { print("damage, \(mode): seed \(last) ended with \(end)") }
      next = last + 1
    }
    return (outcomes, ends)
  }

  @Test(
    "verified before it is read, it is refused, reported or correct, and no process crashes",
    .timeLimit(.minutes(20)))
  func verified() {
    let (outcomes, ends) = run(0..<damagedFiles, "verify")
    print("damage, verified: \(outcomes.sorted { $0.key < $1.key }), \(ends.count) processes died")
    #expect(ends == [])
    #expect(Set(outcomes.keys).isSubset(of: ["refused", "reported", "sound"]))
    #expect(outcomes.values.reduce(0, +) == Int(damagedFiles))
    #expect(outcomes["sound", default: 0] > 0 && outcomes["reported", default: 0] > 0)
  }

  @Test(
    "read, written and rebuilt without verification, it is refused or works, and no process crashes",
    .timeLimit(.minutes(20)), arguments: ["read", "flip"])
  func unverified(_ mode: String) {
    let (outcomes, ends) = run(0..<damagedFiles, mode)
    print("damage, \(mode): \(outcomes.sorted { $0.key < $1.key }), \(ends.count) processes died")
    // LMDB trusts its pages: an assertion, or an access beyond a page, would end the process. Opening checks
    // them.
    #expect(ends == [])
    #expect(Set(outcomes.keys).isSubset(of: ["refused", "correct", "other"]))
    #expect(outcomes.values.reduce(0, +) == Int(damagedFiles))
    #expect(outcomes["refused", default: 0] > 0 && outcomes["correct", default: 0] > 0)
  }
}
