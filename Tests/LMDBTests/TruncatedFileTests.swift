import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A data file that was cut")
struct TruncatedFileTests {
  let directory = TemporaryDirectory()
  private var file: String { directory("data.mdb") }

  @Test(
    "is refused, or opens with all its data, if cut at each page boundary and a byte before or after",
    arguments: [false, true])
  func everyBoundary(readOnly: Bool) throws {
    let sample = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    let pageBytes = 4096
    #expect(bytes.count > 30 * pageBytes)
    var refusals = 0
    for boundary in stride(from: 0, through: bytes.count, by: pageBytes) {
      for length in [boundary - 1, boundary, boundary + 1] where length > 0 && length <= bytes.count {
        writeFile(file, bytes)
        truncate(file, off_t(length))
        var options = Environment.Options.test()
        options.readOnly = readOnly
        do {
          let environment = try Environment(directory: directory.path, options: options)
          #expect(try sample.isIn(environment), "\(length) of \(bytes.count) bytes: data is missing")
        } catch let error as LMDBError {
          let isExpected = [.truncatedFile, .notAStore].contains(error.code)
          #expect(isExpected, "\(length) bytes: \(error)")
          refusals += 1
        }
      }
    }
    // Only a few free pages at the end may be missing.
    #expect(refusals > 3 * (bytes.count / pageBytes) - 20)
  }

  @Test("opens if only pages are missing that a transaction added and freed, and is extended again")
  func neverWritten() throws {
    var shortFiles = 0
    for round in UInt8(0)..<20 {
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      let expected = try environment.write { transaction in
        try transaction.put([round], [0, round], table)
        // More rows than the time before, so that the free pages are not enough and new pages are freed last.
        let rows = 0..<10 * (round + 1)
        for row in rows { try transaction.put(Bytes(repeating: row, count: 1500), [1, row], table) }
        for row in rows.reversed() { _ = try transaction.delete([1, row], table) }
        return try transaction.entries(table)
      }
      let information = try environment.information
      if try environment.fileBytes < (information.lastPage + 1) * information.pageBytes { shortFiles += 1 }
      environment.close()
      #expect(try PageCheck.check(directory: directory.path) == [])
      let again = try Environment(directory: directory.path, options: .test())
      let opened = try again.information
      #expect(try again.fileBytes >= (opened.lastPage + 1) * opened.pageBytes)
      let entries = try again.read { try $0.entries($0.openTable("t", create: false)) }
      #expect(entries == expected)
    }
    #expect(shortFiles > 0, "LMDB has written all pages, so that this test has tested nothing")
  }

  @Test("to zero bytes is a new store, unless it is opened read-only")
  func empty() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    truncate(file, 0)
    var options = Environment.Options.test()
    options.readOnly = true
    #expect(thrownCode { _ = try Environment(directory: directory.path, options: options) } == .notAStore)
    let environment = try Environment(directory: directory.path, options: .test())
    #expect(try environment.lastTransactionID == 0)
    _ = try environment.table("t")
  }
}
