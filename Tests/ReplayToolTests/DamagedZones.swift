import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("The sound parts of a damaged store are exported")
struct DamagedZones {
  private let temporary = TemporaryDirectory()
  private let tool = Tool(seed: 1)
  private var path: String { temporary.path + "/store" }
  private var data: URL { URL(fileURLWithPath: path + "/data.mdb") }

  /// A store with two records in each of two zones, both synced; one has contributions.
  private func makeStore() async throws {
    let store = try ShoppingStore.open(path)
    try await store.write { tx in
      for zone in ["a", "b"] as [Name] {
        try tx.createZone(ZoneID(name: zone))
        for name in ["first", "second"] as [Name] {
          let record = RecordID(zone: ZoneID(name: zone), name: name)
          try tx.create(record, type: "note", fields: ["title": "Title"])
          try tx.contribute(1, to: "stars", of: record)
        }
      }
    }
    store.close()
    // One after the other: their incarnations are numbered in this order.
    for zone in ["a", "b"] {
      let made = await tool.run(
        "sync", path, "--remote", "folder:\(temporary.path)/remote", "--create-remote", "--attach", zone)
      #expect(made.exit == 0, "\(made)")
    }
  }

  /// Overwrites the start of the row of a key, also in old pages: those are not read.
  private func damage(_ key: [UInt8], _ row: [UInt8] = [0xFF]) throws {
    var bytes = try Data(contentsOf: data)
    // In LMDB's pages the key's size precedes it: two bytes, little-endian.
    let node = Data([UInt8(key.count), 0] + key)
    var from = bytes.startIndex
    var count = 0
    while let found = bytes.range(of: node, in: from..<bytes.endIndex) {
      for (index, byte) in row.enumerated() { bytes[found.upperBound + index] ^= byte }
      from = found.upperBound
      count += 1
    }
    #expect(count > 0)
    try bytes.write(to: data)
  }

  @Test(
    "with a damaged row of one zone, the other one's log and records are exported",
    arguments: ["zone", "segment"])
  func oneZone(_ what: String) async throws {
    try await makeStore()
    let log = await tool.run("export", path, "--zone", "a")
    let records = await tool.run("export", path, "--records")
    #expect(log.exit == 0 && records.exit == 0 && records.lines.count == 5, "\(log) \(records)")
    try damage(what == "zone" ? [2, 0, 0, 0, 2] : [0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1])
    #expect(await tool.run("export", path, "--zone", "a").output == log.output)
    let whole = await tool.run("export", path)
    #expect(whole.exit == 3 && whole.errors.contains("--zone ZONE -o FILE` writes the log of one zone"))
    #expect(whole.errors.contains("This works for a") && whole.errors.contains("--records"), "\(whole)")
    let damaged = await tool.run("export", path, "--records")
    guard what == "zone" else { return }
    #expect(damaged.exit == 1 && damaged.lines.count == 3, "\(damaged)")
    #expect(damaged.errors.contains("zone b is left out: "), "\(damaged)")
    for arguments in [["export", path, "--zone", "b"], ["export", path, "--records", "--zone", "b"]] {
      let nothing = await tool.run(arguments)
      #expect(nothing.exit == 3 && nothing.errors.contains("nothing of zone b can be exported"), "\(nothing)")
      #expect(!nothing.errors.contains("`replay export"), "\(nothing)")
    }
  }

  @Test("an unreadable record is left out and reported; the rest is exported")
  func oneRecord() async throws {
    try await makeStore()
    try damage([0, 0, 0, 1] + Array("first".utf8), [UInt8](repeating: 0xFF, count: 12))
    for arguments in [["export", path, "--records"], ["export", path, "--records", "--zone", "a"]] {
      let result = await tool.run(arguments)
      #expect(result.exit == 1 && result.lines.count == (arguments.count == 3 ? 4 : 2), "\(result)")
      let told = result.errors.split(separator: "\n")
      #expect(told.count == 2 && told[0].hasPrefix("record a:first is left out: "), "\(result)")
      #expect(told.last?.contains("`replay rebuild \(path)` makes them again") ?? false, "\(result)")
    }
    let json = await tool.run("export", path, "--records", "-o", temporary.path + "/r.jsonl", "--json")
    #expect(json.exit == 1 && json.output.contains(#""recordsFailed":[{"message":""#), "\(json)")
    #expect(await tool.run("rebuild", path).exit == 0)
    #expect(await tool.run("export", path, "--records").exit == 0)
  }

  @Test("for any damaged page, hints contain only exports that work")
  func hints() async throws {
    try await makeStore()
    let sound = try Data(contentsOf: data)
    let exports = [["export"], ["export", "--records"], ["export", "--records", "--zone", "a"]]
    var tried: [[String]: Int] = [:]
    for first in stride(from: 2 * 4096, to: sound.count, by: 4096) {
      for start in [16, 4000] {
        var changed = sound
        for index in first + start..<first + start + 32 { changed[index] ^= 0xFF }
        try changed.write(to: data)
        for arguments in exports {
          let result = await tool.run(arguments + [path])
          guard result.exit == 3 else { continue }
          let named = result.errors.matches(of: #/`replay (export [^`]*)`/#).map { String($0.output.1) }
          for command in named {
            let words = command.split(separator: " ").map(String.init).map {
              ["FILE": temporary.path + "/out", "ZONE": "a"][$0] ?? $0
            }
            guard !words.contains("--zone") || result.errors.contains("that of a") || arguments.count > 2
            else {
              continue
            }
            tried[arguments, default: 0] += 1
            let other = await tool.run(words)
            #expect(other.exit == 0 || other.exit == 1, "\(first) \(start) \(arguments) \(words): \(other)")
          }
        }
      }
    }
    for arguments in exports { #expect(tried[arguments, default: 0] > 0, "no hint for \(arguments)") }
  }

  @Test("a rebuild makes a row that lists an asset again; a damaged segment is reported once")
  func verified() async throws {
    try await makeStore()
    try damage([0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1])
    let once = await tool.run("verify", path)
    #expect(once.exit == 1 && once.output.hasPrefix("1 problem, "), "\(once)")

    let other = temporary.path + "/assets"
    let store = try ShoppingStore.open(other)
    let asset = try await store.importAsset(bytes: [1, 2, 3])
    try await store.write { tx in
      try tx.createZone(ZoneID(name: "z"))
      try tx.create(RecordID(zone: ZoneID(name: "z"), name: "r"), type: "t", fields: ["a": .asset(asset)])
    }
    store.close()
    let file = URL(fileURLWithPath: other + "/data.mdb")
    var bytes = try Data(contentsOf: file)
    // The zone's list has the asset after its kind and its number.
    let listed = Data([45, 0, 1, 0, 0, 0, 1])
    var from = bytes.startIndex
    while let found = bytes.range(of: listed, in: from..<bytes.endIndex) {
      bytes[found.upperBound + 20] ^= 1
      from = found.upperBound
    }
    try bytes.write(to: file)
    let result = await tool.run("verify", other)
    #expect(result.exit == 1 && result.output.contains("is not in the list of zone number 1"), "\(result)")
    #expect(result.output.contains("`replay rebuild` makes the list of assets again from it"), "\(result)")
    #expect(!result.output.contains("asset download"), "\(result)")
    #expect(await tool.run("rebuild", other).exit == 0)
    #expect(await tool.run("verify", other).exit == 0)
  }
}
