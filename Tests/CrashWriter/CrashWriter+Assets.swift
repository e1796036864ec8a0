import EventStore
import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Work with assets in another process.
extension CrashWriter {
  /// Imports a stream of this many MiB, and reads it; prints the most resident memory before and after, in
  /// KiB.
  static func importLarge(in directory: String, mebibytes: Int) async throws {
    let store = try open(directory, "unsynced")
    try await store.write { tx in
      try tx.createZone(zones[0])
      try tx.create(RecordID(zone: zones[0], name: "first"), type: "note")
    }
    // First with a small asset, so that what is loaded then does not count.
    var small = try store.openAsset(try await store.importAsset(bytes: [UInt8](repeating: 1, count: 1 << 20)))
    while try small.next() != nil {}
    let before = peakResidentKilobytes()
    let stream = Mebibytes(count: mebibytes)
    let asset = try await store.importAsset(stream: stream)
    try await store.write {
      try $0.set("film", of: RecordID(zone: zones[0], name: "first"), to: .asset(asset))
    }
    var reader = try store.openAsset(asset)
    var count = 0
    while let piece = try reader.next() { count += piece.count }
    guard count == mebibytes << 20, try store.checkAsset(asset) == .whole else { return say("wrong") }
    let copy = try await store.importAsset(file: try store.assetPath(asset))
    guard copy == asset else { return say("wrong") }
    say("\(before) \(peakResidentKilobytes())")
    store.close()
  }

  private static func peakResidentKilobytes() -> Int {
    #if canImport(Darwin)
      var usage = rusage()
      getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss / 1024
    #else
      // The figures of getrusage start with the parent's.
      guard let file = fopen("/proc/self/status", "r") else { return 0 }
      defer { fclose(file) }
      var line = [CChar](repeating: 0, count: 256)
      while fgets(&line, 256, file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.hasPrefix("VmHWM:") { return text.split(separator: " ").compactMap { Int($0) }.first ?? 0 }
      }
      return 0
    #endif
  }

  /// Imports assets of growing sizes, refers to them, one after the other, and prints each when it is
  /// committed.
  static func writeAssets(in directory: String, from first: Int) async throws {
    let store = try open(directory, "durable")
    try await store.write { tx in _ = try tx.createZone(zones[0]) }
    say("ready")
    for number in first... {
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 70_000 + number * 997)
      let record = RecordID(zone: zones[0], name: Name("a\(number)"))
      if number % 2 == 0 {
        let asset = try await store.importAsset(bytes: bytes)
        try await store.write { try $0.create(record, type: "note", fields: ["photo": .asset(asset)]) }
      } else {
        try await store.write { try $0.create(record, type: "note", fields: ["photo": .bytes(bytes)]) }
      }
      say("\(number)")
    }
  }
}

/// This many pieces of 1 MiB.
private struct Mebibytes: AsyncSequence, AsyncIteratorProtocol, Sendable {
  var count: Int

  mutating func next() async -> [UInt8]? {
    guard count > 0 else { return nil }
    count -= 1
    return [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: 1 << 20)
  }

  func makeAsyncIterator() -> Mebibytes { self }
}
