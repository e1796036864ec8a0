import EventStore
import OperationFormat
import Testing

@testable import StoreTesting

@Suite("Worlds with assets")
struct WorldsWithAssets {
  private func simulation(steps: Int = 150) -> Simulation {
    var options = SimulationOptions.withAssets()
    options.steps = steps
    return Simulation(options)
  }

  @Test("nothing fails, and assets move in both directions")
  func sound() {
    var lines: [String] = []
    for seed in WideTests.choose(1...8, otherwise: 2...5) as ClosedRange<UInt64> {
      let result = simulation().run(seed: seed, keepsTrace: true)
      #expect(result.failure == nil, "seed \(seed)")
      lines += result.trace
    }
    for words in ["uploads asset", "downloads asset", "asks for asset", "audit of the assets"] {
      #expect(lines.contains { $0.contains(words) }, "\(words)")
    }
  }

  @Test("a seed determines them", arguments: [3, 5] as [UInt64])
  func determined(seed: UInt64) {
    let results = (0..<2).map { _ in simulation().run(seed: seed) }
    #expect(results[0].traceHash == results[1].traceHash)
    #expect(results[0].steps == results[1].steps)
  }

  @Test("the draws of a world without assets do not depend on the bytes of assets")
  func othersAreAsBefore() {
    var options = SimulationOptions()
    options.steps = 100
    let before = Simulation(options).run(seed: 2, keepsTrace: true)
    #expect(before.failure == nil)
    #expect(!before.trace.contains { $0.contains("asset") })
  }

  @Test("the workload reports what a reader must not find")
  func strangeAsset() throws {
    let directory = TemporaryDirectory()
    var configuration = StoreConfiguration()
    configuration.assetThresholdBytes = 40
    configuration.mapBytes = 64 << 20
    configuration.isUnsynced = true
    let store = try LocalStore(
      directory: directory.path + "/store", durability: .consistent, configuration: configuration)
    defer { store.close() }
    let workload = AssetWorkload(thresholdBytes: 40)
    let record = RecordID(zone: workload.zones[0], name: "a")
    try store.writeBlockingThisThread { tx in
      for zone in workload.zones { try tx.createZone(zone) }
      try tx.create(record, type: "photo", fields: ["photo": .bytes([UInt8](repeating: 0, count: 40))])
    }
    try store.read { try workload.check($0) }
    try store.writeBlockingThisThread {
      try $0.set("photo", of: record, to: .bytes([UInt8](repeating: 0, count: 41)))
    }
    #expect(throws: SimulationFailure.self) { try store.read { try workload.check($0) } }
  }
}
