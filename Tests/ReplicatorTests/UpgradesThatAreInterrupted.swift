import Foundation
import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore
@testable import Replicator

/// Stores of a former version, whose upgrade ends at every step and at every call of the database.
@Suite("Upgrades of stores that are interrupted")
struct UpgradesThatAreInterrupted {
  private let scratch = TemporaryDirectory()
  private static let names = ["former-history-a", "former-kinds-a"]

  private struct Stopped: Error {}

  /// A store of a former version, made anew for each run.
  private struct Former {
    let directory: String
    let bytes: Data
    let digests: [String: ContentHash]

    init(_ name: String, in parent: String) throws {
      directory = "\(parent)/store"
      try FormerFiles.makeStore(name, in: directory)
      bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/data.mdb"))
      digests = try FormerFiles.digests(name)
    }

    func putBack() throws {
      try? FileManager.default.removeItem(atPath: directory)
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      try bytes.write(to: URL(fileURLWithPath: "\(directory)/data.mdb"))
    }

    func open(_ configure: (inout StoreConfiguration) -> Void = { _ in }) throws -> LocalStore {
      var configuration = StoreConfiguration()
      configuration.isUnsynced = true
      configuration.mapBytes = 64 << 20
      configuration.createsStore = false
      configure(&configuration)
      return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
    }

    /// The store shows what it showed, is sound, and its upgrade comes to its end.
    func finish(_ comment: Comment) async throws {
      let store = try open()
      try expect(store, comment)
      _ = try await store.upgrade()
      let needed = try store.upgradeNeeded()
      #expect(needed.records == 0 && needed.addends == 0 && needed.transactions == 0, comment)
      try expect(store, comment)
      store.close()
    }

    private func expect(_ store: LocalStore, _ comment: Comment) throws {
      let shown = try store.read { tx in
        var digests: [String: ContentHash] = [:]
        for zone in try tx.zones() { digests["\(zone)"] = try tx.digest(of: zone) }
        return digests
      }
      #expect(shown == digests, comment)
      let report = try store.verify()
      #expect(report.isSound, "\(comment) \(report)")
    }
  }

  @Test("after each of its steps, a store shows the same, and the next run ends it", arguments: names)
  func everyStep(_ name: String) async throws {
    let former = try Former(name, in: scratch.path)
    var steps = 0
    while true {
      try former.putBack()
      let store = try former.open()
      var left = steps
      do {
        _ = try await store.upgrade { _ in
          if left == 0 { throw Stopped() }
          left -= 1
        }
        store.close()
        break
      } catch is Stopped {
        steps += 1
      }
      store.close()
      try await former.finish("stopped after step \(steps)")
    }
    #expect(steps >= 3)
  }

  #if DEBUG
    @Test(
      "at each call of the database, from the opening on, a store is as it was, and the next run ends it",
      arguments: names)
    func everyCall(_ name: String) async throws {
      let former = try Former(name, in: scratch.path)
      let all = try await run(former, FaultPlan())
      let stride = WideTests.choose(1, otherwise: 17)
      var failures = 0
      for number in 1...all where number.isMultiple(of: stride) || number == all {
        try former.putBack()
        let plan = FaultPlan(failing: number, with: number.isMultiple(of: 2) ? .noSpace : .inputOutput)
        _ = try await run(former, plan)
        if plan.hasFailed { failures += 1 }
        try await former.finish("call \(number) of \(all)")
      }
      #expect(failures > 10)
    }

    /// Opens a store, and upgrades it as far as it gets.
    ///
    /// - Returns: how many calls were made.
    private func run(_ former: Former, _ plan: FaultPlan) async throws -> Int {
      do {
        let store = try former.open { $0.faults = plan }
        defer { store.close() }
        _ = try await store.upgrade()
      } catch let error as StoreError {
        #expect(plan.hasFailed && error.code != .damaged, "\(error)")
      }
      return plan.count
    }
  #endif
}
