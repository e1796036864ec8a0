import OperationFormat
import Testing

@Suite("Changes of fields")
struct ChangesOfFields {
  private static let other = UnitMaker(replica: ReplicaID(rawValue: 7), epoch: 2)
  private static let third = UnitMaker(replica: ReplicaID(rawValue: 8), epoch: 0)

  private static func encoded(_ change: FieldChange) throws -> [UInt8] {
    var writer = ByteWriter()
    try change.encode(into: &writer)
    return writer.bytes
  }

  private static func decoded(_ kind: OperationKind, _ bytes: [UInt8]) throws -> FieldChange {
    try FieldChange(kind, decoding: bytes.span.bytes)
  }

  private static func code(_ body: () throws -> Void) -> FormatError.Code? {
    do { try body() } catch let error as FormatError { return error.code } catch {}
    return nil
  }

  @Test("each has the bytes of the format's tables, and is decoded again")
  func roundTrip() throws {
    let runs = [
      UnitSpan(first: UnitReference(number: 3), count: 2),
      UnitSpan(first: UnitReference(maker: Self.other, number: 300), count: 1),
      UnitSpan(first: UnitReference(maker: Self.third, number: 0), count: .max),
      UnitSpan(first: UnitReference(maker: Self.other, number: 1), count: 9),
    ]
    for change: FieldChange in [
      .set("x"), .add(-5), .insert(.null), .remove([1, "a"]), .put(key: "", true), .put(key: "k", .null),
      .removeKey("key"), .insertElements([1, "two", .null], after: nil),
      .insertElements([.bytes([])], after: UnitReference(maker: Self.other, number: 5)),
      .moveElement(
        UnitReference(maker: Self.other, number: 5), after: UnitReference(maker: Self.other, number: 6)),
      .moveElement(UnitReference(number: 0), after: nil), .replaceElement(UnitReference(number: .max), 5),
      .removeElements(runs), .removeText(runs), .insertText("ä𝄞", after: UnitReference(number: 128)),
      .insertText("a", after: nil), .contribute(.null), .contribute(["k": [1]]),
    ] {
      let bytes = try Self.encoded(change)
      let naive = NaiveOperand.bytes(change)
      #expect(bytes == naive.operand && change.kind.rawValue == naive.kind, "\(change)")
      let back = try Self.decoded(change.kind, bytes)
      #expect(back == change)
      for count in 0..<bytes.count {
        let short = Array(bytes.prefix(count))
        #expect(Self.code { _ = try Self.decoded(change.kind, short) } != nil, "\(change) cut to \(count)")
      }
      let long = bytes + [0]
      #expect(Self.code { _ = try Self.decoded(change.kind, long) } != nil, "\(change) and a byte")
    }
  }

  @Test("invalid changes are refused by the encoder and the decoder")
  func refused() {
    let unit = UnitReference(number: 1)
    for (change, code): (FieldChange, FormatError.Code) in [
      (.add("1"), .invalid), (.insertElements([], after: nil), .invalid), (.removeText([]), .invalid),
      (.insertText("", after: unit), .invalid),
      (.removeElements([UnitSpan(first: unit, count: 0)]), .invalid),
      (.removeElements([UnitSpan(first: UnitReference(number: .max), count: 1)]), .invalid),
      (.put(key: Name(String(repeating: "k", count: 256)), 1), .limitExceeded),
      (.removeKey(Name(String(repeating: "k", count: 256))), .limitExceeded),
      (
        .insertText(String(repeating: "x", count: Limits.inlineValueBytesMax + 1), after: nil), .limitExceeded
      ),
    ] {
      var writer = ByteWriter()
      writer.append(9)
      #expect(Self.code { try change.encode(into: &writer) } == code, "\(change.kind)")
      let rest = writer.bytes
      #expect(rest == [9], "what was written was taken back")
      let bytes = NaiveOperand.bytes(change).operand
      #expect(Self.code { _ = try Self.decoded(change.kind, bytes) } == code, "\(change.kind)")
    }
  }

  @Test("a maker is written once, and a number without its maker is refused")
  func makers() {
    let replica = [UInt8](repeating: 0, count: 15) + [7]
    let twice: [UInt8] = [2, 2] + replica + [2, 0, 1, 2] + replica + [2, 5, 1]
    #expect(Self.code { _ = try Self.decoded(.removeText, twice) } == .nonCanonical)
    #expect(Self.code { _ = try Self.decoded(.removeText, [1, 3, 0, 1]) } == .invalid)
    #expect(Self.code { _ = try Self.decoded(.moveElement, [0, 0]) } == .invalid)
    let many = (0...Limits.operationMakersMax).map {
      UnitSpan(
        first: UnitReference(
          maker: UnitMaker(replica: ReplicaID(rawValue: UInt128($0)), epoch: 0), number: 0), count: 1)
    }
    #expect(Self.code { _ = try Self.encoded(.removeText(many)) } == .limitExceeded)
    #expect(Self.code { _ = try Self.encoded(.removeText(Array(many.dropLast()))) } == nil)
  }

  @Test("units have one text form")
  func texts() {
    for unit in [
      UnitReference(number: 0), UnitReference(number: .max), UnitReference(maker: Self.other, number: 12),
    ] { #expect(UnitReference("\(unit)") == unit) }
    for text in ["", "-1", "1.2.3", "x", "\(Self.other.replica).2", "\(Self.other.replica).2.3.4", "01x"] {
      #expect(UnitReference(text) == nil, "\(text)")
    }
  }
}
