import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Cells with many heads are printed briefly")
struct CellsWithManyHeads {
  let temporary = TemporaryDirectory()
  private let zone = ZoneID(name: "home")

  /// A store with a record that this many replicas have written concurrently.
  private func makeStore(_ count: UInt64) async throws -> String {
    let path = "\(temporary.path)/store"
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    let store = try LocalStore(directory: path, durability: .consistent, configuration: configuration)
    defer { store.close() }
    let zone = zone
    try await store.write { _ = try $0.createZone(zone) }
    for number in 1...count {
      let transaction = LogTransaction(
        replica: ReplicaID(rawValue: UInt128(number)), epoch: 0, sequence: 1, zone: zone, base: nil,
        timestamp: Timestamp(milliseconds: 1000 + number, counter: 0),
        operations: [
          .set(record: "r", type: "t", field: "f", value: .int(Int64(number))),
          .update(
            record: "r", type: "t", field: "tags",
            .insert(.int(Int64(number)))),
        ])
      var hasher = ContentHasher()
      let bytes = try transaction.encoded()
      hasher.update(bytes.span.bytes)
      _ = try await store.ingest([
        RemoteSegment(
          zone: zone, incarnation: IncarnationID(rawValue: 7), offset: number, hash: hasher.finish(),
          receivedMilliseconds: nil, transactions: [bytes])
      ])
    }
    return path
  }

  @Test("text has the greatest and counts the rest, JSON has all")
  func bounds() async throws {
    let path = try await makeStore(60)
    let told = await Tool().run("explain", path, "home:r", "f")
    #expect(told.exit == 0 && told.lines.contains("60 won over 59 values that it had not seen."), "\(told)")
    #expect(told.lines.count { $0.contains("Neither had seen the other") } == 50)
    #expect(told.lines.contains("  … and 9 more: --json prints all"))
    let set = await Tool().run("explain", path, "home:r", "tags")
    #expect(set.lines.count { $0.contains("Added on replica") } == 50, "\(set)")
    #expect(set.lines.contains("  … and 10 more: --json prints all"))
    let conflicts = await Tool().run("conflicts", path)
    #expect(conflicts.lines.count { $0.hasPrefix("  lost  ") } == 50, "\(conflicts)")
    #expect(conflicts.lines.contains("  … and 9 more: --json prints all"))
    let json = await Tool().run("explain", path, "home:r", "f", "--json")
    #expect(json.output.components(of: #""lostTo":"#) == 59)
    let all = await Tool().run("conflicts", path, "--json")
    #expect(all.output.components(of: #""operation":"#) == 60, "\(all)")
  }
}

extension String {
  fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
