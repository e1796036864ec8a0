import Testing

@testable import OperationFormat

#if os(Linux)
  import Glibc
#endif

@Suite("Few bytes that claim a large size")
struct LengthBombTests {
  static let counts: [UInt64] = [1_000_000, 1 << 31, 1 << 32, 1 << 62, 1 << 63, .max - 1, .max]

  /// Byte strings that a value's decoder must refuse, each with a few bytes of content.
  static var values: [[UInt8]] {
    var bombs: [[UInt8]] = []
    for count in counts {
      for tag in [6, 7, 12, 13] as [UInt8] {
        bombs.append([tag] + NaiveTransaction.varint(count))
        bombs.append([tag] + NaiveTransaction.varint(count) + [UInt8](repeating: 0, count: 1000))
      }
      bombs.append([13, 1] + NaiveTransaction.varint(count))
      bombs.append([10, 0, 0] + NaiveTransaction.varint(count))
      bombs.append([10, 0, 1] + NaiveTransaction.varint(count))
    }
    // Depth: arrays in arrays, maps in maps, and wide values at each level.
    bombs.append((0..<100_000).flatMap { _ in [12, 1] as [UInt8] })
    bombs.append((0..<100_000).flatMap { _ in [13, 1, 0] as [UInt8] })
    bombs.append((0..<100_000).flatMap { _ in [12, 0x80, 0x80, 4] as [UInt8] })
    bombs.append(
      (0..<100_000).flatMap { _ in [12, 0x80, 0x80, 4] as [UInt8] } + [UInt8](repeating: 12, count: 100_000))
    return bombs
  }

  static var transactions: [[UInt8]] {
    var bombs: [[UInt8]] = []
    for count in counts {
      var names = NaiveTransaction(Examples.full)
      names.nameCount = count
      var operations = NaiveTransaction(Examples.full)
      operations.operationCount = count
      var text = NaiveTransaction(Examples.full)
      text.author = NaiveTransaction.varint(count)
      var zone = NaiveTransaction(Examples.full)
      zone.owner = NaiveTransaction.varint(count)
      bombs += [names.bytes, operations.bytes, text.bytes, zone.bytes]
      // An operation that claims a long payload.
      var payload = NaiveTransaction(Examples.full)
      payload.operations = []
      payload.operationCount = 1
      bombs.append(payload.bytes + [9] + NaiveTransaction.varint(count))
    }
    for value in values {
      var nested = NaiveTransaction(Examples.full)
      nested.operations[1].payload = [0, 1, 2] + value
      bombs.append(nested.bytes)
    }
    return bombs
  }

  @Test("Values are refused")
  func refusedValues() {
    for bomb in Self.values {
      let error = Codec.value.error(bomb)
      #expect(error?.code == .truncated || error?.code == .limitExceeded)
      #expect(validationError(bomb) == error)
    }
  }

  @Test("Transactions are refused")
  func refusedTransactions() {
    for bomb in Self.transactions {
      let code = Codec.transaction.code(bomb)
      #expect(code == .truncated || code == .limitExceeded)
    }
  }

  #if os(Linux)
    @Test("They are refused with 24 MiB of free memory")
    func memory() async {
      await #expect(processExitsWith: .success) {
        let values = LengthBombTests.values
        let transactions = LengthBombTests.transactions
        LengthBombTests.limitMemory(spare: 24 << 20)
        for bomb in values { precondition(Codec.value.error(bomb) != nil && validationError(bomb) != nil) }
        for bomb in transactions { precondition(Codec.transaction.error(bomb) != nil) }
      }
      // The limit works: more memory than it allows cannot be allocated.
      await #expect(processExitsWith: .failure) {
        LengthBombTests.limitMemory(spare: 24 << 20)
        let large = [UInt8](repeating: 1, count: 48 << 20)
        precondition(large[large.count / 2] == 1)
      }
    }

    /// Limits this process to `spare` bytes of writable memory more than it has now.
    static func limitMemory(spare: UInt) {
      // The sixth number is the writable size, in pages.
      guard let file = fopen("/proc/self/statm", "r") else { preconditionFailure("no /proc") }
      var line = [UInt8](repeating: 0, count: 256)
      let count = fread(&line, 1, line.count, file)
      fclose(file)
      let numbers = String(decoding: line[..<count], as: UTF8.self).split(separator: " ")
      let size = UInt(numbers[5])! * UInt(getpagesize()) + spare
      var limit = rlimit(rlim_cur: size, rlim_max: size)
      precondition(setrlimit(__rlimit_resource_t(2), &limit) == 0)  // RLIMIT_DATA
    }
  #endif
}
