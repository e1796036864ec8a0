import Testing

@testable import EventStore
@testable import LMDB
@testable import ReplayTool
@testable import StoreTesting

#if DEBUG
  @Suite("Zones named on the command line")
  struct ZonesChecked {
    @Test("each is looked up: as many calls among 300 as among 3")
    func calls() throws {
      var counts: [Int] = []
      for zoneCount in [3, 300] {
        let scratch = TemporaryDirectory()
        var configuration = StoreConfiguration()
        let plan = FaultPlan()
        configuration.faults = plan
        let store = try LocalStore(
          directory: scratch.path, durability: .consistent, configuration: configuration)
        defer { store.close() }
        try store.writeBlockingThisThread { tx in
          for index in 0..<zoneCount { _ = try tx.createZone(ZoneID(name: Name("zone \(index)"))) }
        }
        try store.read { transaction in
          let before = plan.count
          for index in 0..<3 { try Inputs.check(ZoneID(name: Name("zone \(index)")), in: transaction) }
          counts.append(plan.count - before)
          #expect(throws: ToolError.self) { try Inputs.check(ZoneID(name: "none"), in: transaction) }
        }
      }
      #expect(counts[0] == counts[1])
    }
  }
#endif
