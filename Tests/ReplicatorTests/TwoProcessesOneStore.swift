import ChildProcesses
import EventStore
import StoreTesting
import Testing

@testable import Replicator

@Suite("Several replicators at one store at the same time")
struct TwoProcessesOneStore {
  @Test(
    "two processes, beside another store: every write is there once",
    arguments: WideTests.choose(1...3, otherwise: 1...1))
  func processes(seed: Int) async throws {
    let scratch = TemporaryDirectory()
    let folder = "\(scratch.path)/remote"
    _ = try await FolderRemote.create(directory: folder)
    let devices = [
      try Device(in: scratch.path, "shared", seed: 1), try Device(in: scratch.path, "own", seed: 2),
    ]
    for device in devices { device.store.close() }
    async let first = ChildProcess.run("beside", devices[0].directory, folder, "\(seed)1", "20")
    async let second = ChildProcess.run("beside", devices[0].directory, folder, "\(seed)2", "20")
    async let third = ChildProcess.run(
      isOther: true, "beside", devices[1].directory, folder, "\(seed)3", "20")
    let runs = await [first, second, third]
    var written: Set<String> = []
    for run in runs {
      #expect(run.end == .exit(0) && run.lines.last == "over")
      #expect(run.lines.filter { $0.hasPrefix("zone ") } == [])
      for line in run.lines where line.hasPrefix("wrote ") { written.insert(String(line.dropFirst(6))) }
    }
    #expect(written.count == 60)
    for device in devices { try device.reopen() }
    let remote = try await FolderRemote.open(directory: folder)
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices {
      let found = try device.recordNames()
      #expect(found == written)
      device.store.close()
    }
  }

  @Test(
    "two in one process, while the app writes", .serialized,
    arguments: WideTests.choose(0..<20, otherwise: 0..<5))
  func replicators(seed: UInt64) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: seed &* 10 &+ UInt64($0)) }
    let shared = devices[0]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<2 {
        // Each sees the remote as a separate process would, through a network with delays.
        var rates = FaultyRemote.Rates()
        rates.delayed = 60
        let network = FaultyRemote(remote.reopened(), seed: seed &* 2 &+ UInt64(number), rates: rates)
        group.addTask {
          for index in 0..<12 {
            try await shared.set("title", of: Name("\(number) \(index)"), to: .int(Int64(index)))
            let report = try await shared.sync(network)
            #expect(report.failure == nil)
            for zone in report.zones { #expect([.inSync, .unfinished].contains(zone.status), "\(zone)") }
          }
        }
      }
      group.addTask {
        for index in 0..<12 {
          try await devices[1].set("title", of: Name("other \(index)"), to: 1)
          try await devices[1].sync(remote.reopened())
        }
      }
      try await group.waitForAll()
    }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    for device in devices {
      #expect(try device.recordNames().count == 36)
      device.store.close()
    }
  }
}
