import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("The table of readers")
struct ReaderTableTests {
  let directory = TemporaryDirectory()

  private var options: Environment.Options {
    var options = Environment.Options.test()
    options.readersMax = 3
    return options
  }

  @Test("is full: an error, until a reader ends")
  func full() throws {
    let environment = try Environment(directory: directory.path, options: options)
    let first = try environment.beginRead()
    let second = try environment.beginRead()
    var third = try environment.beginRead()
    do {
      _ = try environment.beginRead()
      Issue.record("a fourth reader of three")
    } catch {
      #expect(error.code == .readersFull)
      #expect(error.hint.contains("readersMax"))
    }
    // A reader that was reset keeps its slot.
    third.reset()
    #expect(thrownCode { _ = try environment.beginRead() } == .readersFull)
    first.abort()
    _ = try environment.beginRead()
    try third.renew()
    second.abort()
  }

  @Test("is cleared of dead processes when it is full")
  func stale() async throws {
    let environment = try Environment(directory: directory.path, options: options)
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      let environment = try Environment(directory: path, options: .test())
      try environment.read { _ in
        try environment.read { _ in
          try environment.read { _ in _exit(0) }
        }
      }
    }
    let first = try environment.beginRead()
    let second = try environment.beginRead()
    let third = try environment.beginRead()
    third.abort()
    second.abort()
    first.abort()
    #expect(try environment.information.readersMax == 3)
  }

  @Test("prevents that pages which a reader sees are reused, however much is written")
  func longReader() throws {
    let environment = try Environment(directory: directory.path, options: options)
    let table = try environment.table("t")
    try environment.write { transaction in
      for number in UInt8(0)..<200 {
        try transaction.put(Bytes(repeating: number, count: 500), [number], table)
      }
    }
    let reader = try environment.beginRead()
    for round in UInt8(0)..<50 {
      try environment.write { transaction in
        for number in UInt8(0)..<200 {
          try transaction.put(Bytes(repeating: round, count: 600), [number], table)
        }
      }
    }
    let entries = try reader.entries(table)
    #expect(entries == (UInt8(0)..<200).map { Pair(key: [$0], value: Bytes(repeating: $0, count: 500)) })
  }
}
