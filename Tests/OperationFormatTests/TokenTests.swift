import Testing

@testable import OperationFormat

@Suite("Tokens that an app gives back")
struct TokenTests {
  static func error(_ text: String) -> FormatError? {
    do throws(FormatError) {
      _ = try ChangeToken(text: text)
      return nil
    } catch {
      return error
    }
  }

  /// The error of a token's bytes after a change, with a correct checksum.
  static func error(_ token: ChangeToken, _ change: (inout [UInt8]) -> Void) throws -> FormatError? {
    var bytes = try token.encoded()
    change(&bytes)
    return Codec.changeToken.error(withChecksum(bytes))
  }

  @Test("Text that was cut, changed, padded or broken into lines, or that is no token")
  func texts() throws {
    let text = try FrameExamples.changeToken.encodedText()
    #expect(Self.error(text) == nil)
    for count in 0..<text.utf8.count {
      let code = Self.error(String(text.prefix(count)))?.code
      #expect(code == .truncated || code == .damaged || code == .nonCanonical)
    }
    for (index, character) in text.enumerated() {
      for other in ["A", "z", "-"] where other != String(character) {
        var characters = Array(text)
        characters[index] = Character(other)
        #expect(Self.error(String(characters)) != nil, "\(other) at \(index)")
      }
    }
    #expect(Self.error(text + "=")?.code == .invalid)
    #expect(Self.error(text + "\n")?.code == .invalid)
    #expect(Self.error(" " + text)?.code == .invalid)
    #expect(Self.error(text.replacing("_", with: "/"))?.code == .invalid)
    #expect(Self.error(text.replacing("-", with: "+"))?.code == .invalid)
    #expect(Self.error("")?.code == .truncated)
    #expect(Self.error("é")?.offset == 0)
    #expect(Self.error(text + "A" + text)?.code == .damaged)
    #expect(Self.error(String(repeating: "A", count: 10_000_000))?.code == .limitExceeded)
  }

  @Test("Every byte string of up to two bytes, and random ones: each has exactly one text")
  func base64() throws {
    var random = SeededGenerator(95)
    var strings: [[UInt8]] = [[]] + (0...255).map { [$0] }
    for high in 0...255 as ClosedRange<UInt8> {
      for low in stride(from: 0, through: 255, by: 5) { strings.append([high, UInt8(low)]) }
    }
    for _ in 0..<500 { strings.append(random.bytes(random.below(40))) }
    var texts: Set<String> = []
    for bytes in strings {
      let text = Base64URL.text(of: bytes)
      texts.insert(text)
      let again = try Base64URL.bytes(of: text, bytesMax: 40, "text")
      #expect(again == bytes, "seed \(random.seed)")
    }
    #expect(texts.count == Set(strings).count)
    #expect(Base64URL.text(of: Array("any carnal pleas".utf8)) == "YW55IGNhcm5hbCBwbGVhcw")
    for text in ["A", "AB", "AAB", "AAAAA", "_-_"] {
      #expect(throws: FormatError.self) { try Base64URL.bytes(of: text, bytesMax: 40, "text") }
    }
  }

  @Test("A token of another kind, of a later version, and of a later kind")
  func kinds() throws {
    let change = try FrameExamples.changeToken.encoded()
    let database = try FrameExamples.databaseToken.encoded()
    let first = try FrameExamples.firstChangeToken.encoded()
    #expect(Codec.databaseToken.error(first)?.subject == "token.kind")
    #expect(Codec.databaseToken.code(first) == .invalid)
    #expect(Codec.databaseToken.code(change) == .newerFormat)
    #expect(Codec.changeToken.code(database) == .invalid)
    #expect(try Self.error(FrameExamples.changeToken) { $0[0] = 3 }?.code == .newerFormat)
    #expect(try Self.error(FrameExamples.changeToken) { $0[0] = 0 }?.code == .invalid)
    #expect(try Self.error(FrameExamples.changeToken) { $0[1] = 3 }?.code == .newerFormat)
  }

  @Test("A token has a hash, unless it is at the start")
  func hashes() throws {
    var token = FrameExamples.changeToken
    token.hash = .zero
    #expect(Codec.changeToken.code(encoding: token) == .invalid)
    token.offset = 0
    #expect(Codec.changeToken.code(encoding: token) == nil)
    token.hash = FrameExamples.changeToken.hash
    #expect(Codec.changeToken.code(encoding: token) == .invalid)
    var database = FrameExamples.databaseToken
    database.hash = .zero
    #expect(Codec.databaseToken.code(encoding: database) == .invalid)
    let count = try FrameExamples.startToken.encoded().count
    #expect(try Self.error(FrameExamples.startToken) { $0[count - 5] = 1 }?.subject == "token.hash")
    #expect(try Self.error(FrameExamples.startToken) { $0[count - 37] = 1 }?.subject == "token.hash")
    #expect(try Self.error(FrameExamples.startToken) { $0.insert(0, at: count - 4) }?.code == .trailingBytes)
  }

  @Test("A token of another zone is refused where it is used, and the error names no zone")
  func otherZone() throws {
    let token = FrameExamples.changeToken
    try token.check(isOf: FrameExamples.zone)
    for zone in [ZoneID(name: "notes"), ZoneID(owner: "ann", name: "Notes")] {
      let error = #expect(throws: FormatError.self) { try token.check(isOf: zone) }
      #expect(error?.code == .invalid && error?.subject == "token.zone")
      #expect(error?.description.contains("otes") == false)
    }
  }

  @Test("Mutations with a correct checksum give an error, or a token, event or seal with these bytes")
  func mutations() throws {
    var random = SeededGenerator(96)
    let change = try FrameExamples.changeToken.encoded()
    let database = try FrameExamples.databaseToken.encoded()
    let event = try Codec.zoneEvent.encode(FrameExamples.unknownEvent)
    let seal = FrameExamples.seals[2].encode()
    var faults: [String?] = []
    var accepted = 0
    for _ in 0..<10_000 {
      func next(_ bytes: [UInt8]) -> [UInt8] { withChecksum(mutated(bytes, using: &random) + [0, 0, 0, 0]) }
      let inputs = [change, database, event, seal].map { next(Array($0.dropLast(4))) }
      faults += [
        Codec.changeToken.fault(inputs[0]), Codec.databaseToken.fault(inputs[1]),
        Codec.zoneEvent.fault(inputs[2]), Codec.seal.fault(inputs[3]),
      ]
      if Codec.zoneEvent.code(inputs[2]) == nil { accepted += 1 }
    }
    #expect(faults.allSatisfy { $0 == nil }, "seed \(random.seed)")
    #expect(accepted > 500 && accepted < 9500, "\(accepted) of 10,000")
  }

  @Test("Seals of later kinds and versions")
  func seals() {
    func code(_ index: Int, _ byte: UInt8) -> FormatError.Code? {
      var bytes = FrameExamples.seals[0].encode()
      bytes[index] = byte
      return Codec.seal.code(withChecksum(bytes))
    }
    #expect(code(4, 2) == .newerFormat)
    #expect(code(5, 1) == .newerFormat)
    #expect(code(14, 0) == .invalid)
    #expect(code(14, 2) == nil)
    #expect(code(14, 3) == nil)
    #expect(code(14, 4) == .newerFormat)
    var bytes = FrameExamples.seals[0].encode()
    bytes.replaceSubrange(6..<14, with: [UInt8](repeating: 0, count: 8))
    #expect(Codec.seal.code(withChecksum(bytes)) == .invalid)
  }

  @Test("Events with later flags and versions, offset 0, no predecessor, kind 0")
  func events() throws {
    let event = try Codec.zoneEvent.encode(FrameExamples.unknownEvent)
    func code(_ change: (inout [UInt8]) -> Void) -> FormatError.Code? {
      var bytes = event
      change(&bytes)
      return Codec.zoneEvent.code(withChecksum(bytes))
    }
    #expect(code { $0[4] = 2 } == .newerFormat)
    #expect(code { $0[5] = 1 } == .newerFormat)
    #expect(code { $0.replaceSubrange(6..<14, with: [UInt8](repeating: 0, count: 8)) } == .invalid)
    #expect(code { $0.replaceSubrange(6..<14, with: [1, 0, 0, 0, 0, 0, 0, 0]) } == .invalid)
    #expect(code { $0.replaceSubrange(14..<46, with: [UInt8](repeating: 0, count: 32)) } == .invalid)
    #expect(code { $0[46] = 0 } == .invalid)
    #expect(code { $0[46] = 1 } == nil)
  }
}
