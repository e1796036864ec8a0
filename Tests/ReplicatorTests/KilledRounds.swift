import ChildProcesses
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A process that is killed in the middle of a round")
struct KilledRounds {
  /// Two devices at a folder, with a round to perform.
  private func world(_ parent: String) async throws -> [Device] {
    let remote = try await FolderRemote.create(directory: "\(parent)/remote", makeRandom: seededBits(9))
    return try await makeContest(in: parent, remote)
  }

  /// Finishes the remaining work, and checks the end.
  ///
  /// - Returns: the digests that all have.
  private func finish(_ devices: [Device], _ parent: String) async throws -> [String: ContentHash] {
    let remote = try await FolderRemote.open(directory: "\(parent)/remote")
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    let digests = try devices[0].digests()
    for device in devices { device.store.close() }
    return digests
  }

  /// What all have at the end if nothing is killed. Seeds and clocks make it the same each time.
  private func expected() async throws -> [String: ContentHash] {
    let scratch = TemporaryDirectory()
    let digests = try await finish(try await world(scratch.path), scratch.path)
    #expect(digests.keys.sorted() == ["lists", "new", "notes"])
    return digests
  }

  @Test("before any of its effects: the next round continues, and nothing is lost or done twice")
  func betweenEffects() async throws {
    let expected = try await expected()
    let step = WideTests.choose(1, otherwise: 3)
    var effect = 0
    while true {
      let scratch = TemporaryDirectory()
      let devices = try await world(scratch.path)
      devices[0].store.close()
      let run = await ChildProcess.run(
        "round", devices[0].directory, "\(scratch.path)/remote", "\(effect)")
      try devices[0].reopen()
      let found = try await finish(devices, scratch.path)
      #expect(found == expected, "killed before effect \(effect)")
      if run.end == .exit(0) {
        #expect((effect - step + 1...effect).contains { run.lines == ["\($0)"] }, "\(run.lines)")
        break
      }
      #expect(run.end == .signal(SIGKILL))
      effect += step
    }
    // The world's round has effects of every kind.
    #expect(effect > 20)
  }

  @Test(
    "inside one of its effects, at any point", .serialized,
    arguments: WideTests.choose(0..<30, otherwise: 0..<8))
  func withinEffects(seed: UInt64) async throws {
    let expected = try await expected()
    var random = SeededRandom(seed: seed)
    let scratch = TemporaryDirectory()
    let devices = try await world(scratch.path)
    for _ in 0..<3 {
      devices[0].store.close()
      let run = await ChildProcess.run(
        "round", devices[0].directory, "\(scratch.path)/remote", "\(random.next(below: 22))",
        "\(random.next(below: 800))")
      // A round that continues another one may have fewer effects.
      #expect(run.end == .signal(SIGKILL) || run.end == .exit(0))
      try devices[0].reopen()
    }
    let found = try await finish(devices, scratch.path)
    #expect(found == expected)
  }
}
