import Testing

@testable import OperationFormat
@testable import ReplayTool
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Files of a remote log")
struct SegmentFiles {
  let tool = Tool()

  @Test("a packed segment: header, chain, transactions and their operations")
  func packed() async throws {
    let bytes = try GoldenFile.read("segment-packed")
    let result = await tool.run("segment", "-", "--operations", input: bytes)
    #expect(result.exit == 0 && result.errors == "")
    #expect(
      result.output.replacing(/a{40}/, with: "A") == #"""
        zone         ann/notes
        incarnation  ffeeddccbbaa99887766554433221100
        replica      00112233445566778899aabbccddeeff, epoch 300
        holds        2 transactions, 3 operations, sequences 7 to 8
        time         2021-09-09T23:44:06.000Z to 2021-09-09T23:44:06.500Z
        body         369 bytes, packed to 186 by Zstandard
        content      SHA-256 abf45d90c69688195de847c93dbd8d8b3c5d5045d54765bbd2472669e047facd
        had seen     offset 5, cae662172fd450bb0cd710a769079c05bfc5d8e35efa6576edc7d0377afdd4a2
        previous     6da0633528deaa0144e7b058315f0b753ec0b945163a72bf96a0d18180f9de0d

        7  2021-09-09T23:44:06.500Z  -  -  1 operation
            create  note-1  Note
        8  2021-09-09T23:44:06.000Z  -  -  2 operations
            set  note-1  title  "A"…
            delete  note-1

        """#)
  }

  @Test("a segment in its envelope, read from a file")
  func enveloped() async throws {
    let temporary = TemporaryDirectory()
    let path = temporary.path + "/0000000000000258"
    let bytes = try GoldenFile.read("envelope")
    let file = try #require(fopen(path, "w"))
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
    let result = await tool.run("segment", path)
    #expect(result.exit == 0)
    #expect(result.lines.first == "place        offset 258, received 2021-09-09T23:44:06.000Z")
    #expect(result.output.contains("\nhad seen     nothing\nprevious     none\n\n1  "))
    #expect(result.output.hasSuffix("  1 operation\n"))
    #expect(result.output.contains("holds        1 transaction, 1 operation, sequence 1\n"))
  }

  @Test("seals")
  func seals() async throws {
    let deleted = await tool.run("segment", "-", input: try GoldenFile.read("seal-deleted"))
    #expect(deleted.output == "place  offset 259\nseal   the zone was deleted\n")
    let reset = await tool.run("segment", "-", "--json", input: try GoldenFile.read("seal-reset"))
    #expect(
      reset.output
        == #"{"byteCount":19,"kind":"seal","offset":3,"seal":{"kind":"reset"}}"# + "\n")
    var damaged = try GoldenFile.read("seal-purged")
    damaged[8] ^= 1
    let result = await tool.run("segment", "-", input: damaged)
    #expect(result.exit == 1)
    #expect(result.output.hasPrefix("damaged, at byte 15 of the file\nseal: "))
  }

  @Test("JSON, with and without operations")
  func json() async throws {
    let bytes = try GoldenFile.read("segment-packed")
    let short = await tool.run("segment", "-", "--json", input: bytes)
    let whole = await tool.run("segment", "-", "--json", "--operations", input: bytes)
    for (result, shows) in [(short, false), (whole, true)] {
      #expect(result.exit == 0)
      guard case .object(let members) = try JSONScanner.read(Array(result.output.dropLast().utf8)),
        case .object(let header)? = members["header"],
        case .array(let transactions)? = members["transactions"],
        case .object(let first)? = transactions.first
      else {
        Issue.record("\(result.output)")
        continue
      }
      #expect(members["kind"] == "segment" && header["base"] == .integer(5) && header["codec"] == .integer(1))
      #expect(header["lastSequence"] == .integer(8) && transactions.count == 2)
      #expect((first["operations"] == .integer(1)) == !shows)
    }
  }

  @Test(
    "a damaged file is shown with the place of the damage and its readable parts: any byte changed, any cut")
  func damage() async throws {
    let bytes = try GoldenFile.read("envelope")
    for index in 4..<bytes.count {
      var changed = bytes
      changed[index] ^= 0x10
      let result = await tool.run("segment", "-", input: changed)
      #expect(result.exit == 1, "byte \(index)")
      // With other first bytes, the content of the envelope is not a segment.
      let word = 34..<38 ~= index ? "not as the format asks" : "damaged"
      #expect(result.output.contains("\(word), at byte "), "byte \(index)")
      // The envelope has 34 bytes, the header 136.
      #expect(result.output.hasPrefix("place") == (index >= 34), "byte \(index)")
      #expect(result.output.contains("\nreplica  ") == (index >= 34 + 136), "byte \(index)")
      let cut = await tool.run("segment", "-", input: Array(bytes.prefix(index)))
      #expect(cut.exit == 1 && cut.output.contains("damaged, at byte "), "cut to \(index)")
      #expect(cut.output.contains("\nsegment") == (index >= 34), "cut to \(index)")
    }
    let longer = await tool.run("segment", "-", input: bytes + [0])
    #expect(longer.exit == 1 && longer.output.contains("damaged, at byte \(bytes.count) of the file"))
    let body = bytes.count - 40
    var changed = bytes
    changed[body] ^= 1
    let json = await tool.run("segment", "-", "--json", input: changed)
    #expect(json.exit == 1)
    #expect(json.output.contains(#""code":"damaged""#) && json.output.contains(#""at":"file""#))
    #expect(!json.output.contains("transactions"))
  }

  @Test(
    "files that are not segments: another file, an entry of the list of zones, an empty file, a missing file")
  func others() async throws {
    let event = try GoldenFile.read("zone-event-created")
    for input in [[], Array("TRS".utf8), Array("{\"zone\":1}".utf8), event] {
      let result = await tool.run("segment", "-", input: input)
      #expect(result.exit == 2 && result.output == "")
      #expect(result.errors.hasPrefix("error: standard input is "))
    }
    let missing = await tool.run("segment", "/none/such")
    #expect(missing.exit == 2 && missing.errors.contains("/none/such"))
    let huge = Array("TRSG".utf8) + [UInt8](repeating: 0, count: SegmentEnvelope.bytesMax + 100_000)
    let result = await tool.run("segment", "-", input: huge)
    #expect(result.exit == 1)
  }
}
