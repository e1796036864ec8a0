import EventStore
import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension CrashWriter {
  /// Opens copies of a store's data file, each with its own damage, and prints the outcome of each.
  ///
  /// - Parameters:
  ///   - mode: `verify`: the store is verified, and read only if that finds no problem. `read`: it is read,
  ///     written and rebuilt. `flip`: the same after the flip of one bit.
  static func damage(
    from file: String, in directory: String, expected: String, seeds: Range<UInt64>, mode: String
  ) async throws {
    let sound = readFile(file)
    mkdir(directory, 0o700)
    for seed in seeds {
      say("\(seed) begins")
      unlink(directory + "/lock.mdb")
      var bytes = sound
      let kind = mode == "flip" ? flip(&bytes, seed) : harm(&bytes, seed)
      writeFile(directory + "/data.mdb", bytes)
      let came = await outcome(directory, expected, verifies: mode == "verify")
      say("\(seed) \(kind) \(came)")
    }
    say("done")
  }

  private static func outcome(
    _ directory: String, _ expected: String, verifies: Bool
  ) async -> String {
    do {
      var configuration = StoreConfiguration()
      configuration.isUnsynced = true
      configuration.createsStore = false
      let store = try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
      defer { store.close() }
      if verifies {
        guard try store.verify().isSound else { return "reported" }
        return try store.summary() == expected ? "sound" : "WRONG"
      }
      let found = try store.summary()
      try await store.write { tx in
        for zone in zones {
          for number in 0..<5 {
            let record = RecordID(zone: zone, name: Name("after \(number)"))
            if try !tx.contains(record) { try tx.create(record, type: "note") }
          }
          for number in stride(from: 2, to: 50, by: 5) {
            let record = RecordID(zone: zone, name: Name("a-\(number)"))
            if try tx.contains(record) { try tx.delete(record) }
          }
        }
      }
      _ = try await store.rebuild()
      return found == expected ? "correct" : "other"
    } catch is StoreError {
      return "refused"
    } catch {
      return "FOREIGN \(error)"
    }
  }

  /// Flips one bit; every eighth time in one of the meta pages, and twice as often in a size of an entry of a page, by
  /// which LMDB moves memory.
  private static func flip(_ bytes: inout [UInt8], _ seed: UInt64) -> String {
    var next = Draw(seed: seed)
    var (offset, kind) = (next.below(bytes.count), "flip")
    switch seed % 8 {
    case 0: (offset, kind) = (next.below(2) * 4096 + next.below(152), "meta")
    case 1, 5:
      let page = next.below(bytes.count / 4096) * 4096
      func number(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
      // Its entries' places follow the header.
      let count = (number(page + 12) - 16) / 2
      guard 1...1000 ~= count else { break }
      let entry = page + number(page + 16 + 2 * next.below(count)) % 4088
      (offset, kind) = (entry + [0, 1, 6, 7][next.below(4)], "size")
    default: break
    }
    bytes[offset] ^= 1 << next.below(8)
    return kind
  }

  /// Flips bits, overwrites or cuts, as the seed determines.
  private static func harm(_ bytes: inout [UInt8], _ seed: UInt64) -> String {
    var draw = Draw(seed: seed)
    func next(_ count: Int) -> Int { draw.below(count) }
    switch seed % 8 {
    case 0:
      bytes.removeLast(1 + next(bytes.count))
      return "cut"
    case 1:
      let start = next(bytes.count)
      for offset in start..<min(bytes.count, start + 1 + next(512)) { bytes[offset] = UInt8(next(256)) }
      return "noise"
    case 2:
      let page = next(bytes.count / 4096) * 4096
      for offset in page..<page + 4096 { bytes[offset] = 0 }
      return "zeros"
    case 3:
      // In the first bytes of a page: its header and the offsets of its entries.
      let page = next(bytes.count / 4096) * 4096
      bytes[page + next(64)] ^= 1 << next(8)
      return "header"
    default:
      for _ in 0..<(seed % 8 == 4 ? 8 : 1) { bytes[next(bytes.count)] ^= 1 << next(8) }
      return "flip"
    }
  }
}

/// Numbers that are determined by a seed (SplitMix64).
struct Draw {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func below(_ count: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(count))
  }
}

extension LocalStore {
  /// Everything that can be read from a store, as one hash.
  func summary() throws -> String {
    var bytes: [UInt8] = []
    try read { tx in
      for zone in try tx.zones() {
        bytes += try tx.digest(of: zone).bytes
        for record in try tx.records(in: zone) { bytes += Array("\(record.id)".utf8) }
        bytes.append(UInt8(truncatingIfNeeded: try tx.conflicts(in: zone).count))
      }
      try tx.history { entry in
        bytes += try tx.bytes(at: entry.position)
        return true
      }
    }
    return ContentHash(of: bytes.span.bytes).description
  }
}

private func readFile(_ path: String) -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
  let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
  precondition(count == bytes.count, "\(path) cannot be read: error \(errno)")
  return bytes
}

private func writeFile(_ path: String, _ bytes: [UInt8]) {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  precondition(count == bytes.count, "\(path) cannot be written: error \(errno)")
}
