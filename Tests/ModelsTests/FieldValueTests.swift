import Foundation
import StoreTesting
import Testing

@testable import Models
@testable import Tributary

@Suite("Values of fields")
struct FieldValueTests {
  private func check<T: FieldValue & Equatable>(
    _ value: T, _ stored: Value, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try value.value(in: "z") == stored, sourceLocation: sourceLocation)
    #expect(T(stored, in: "z") == value, sourceLocation: sourceLocation)
    #expect(try stored.encoded().isEmpty == false, sourceLocation: sourceLocation)
  }

  @Test("each type is stored as itself, and read again")
  func roundTrips() throws {
    try check(true, true)
    try check("é", "é")
    try check(-5, .int(-5))
    try check(UInt8(200), .int(200))
    try check(UInt64(1) << 62, .int(1 << 62))
    try check(1.5, .double(1.5))
    try check(Float(0.5), .double(0.5))
    try check([UInt8]([1, 2]), .bytes([1, 2]))
    try check([1, 2], .array([1, 2]))
    try check([String?]([nil, "a"]), .array([.null, "a"]))
    try check(["a": [true]], .map(["a": .array([true])]))
    try check(Int?.some(3), 3)
    try check(Date(timeIntervalSince1970: -1.5), .date(microseconds: -1_500_000))
    let uuid = UUID(uuidString: "0193A4B2-0000-7000-8000-00000000ABCD")!
    try check(uuid, .uuid(UniqueID("0193a4b2-0000-7000-8000-00000000abcd")!))
    try check(URL(string: "https://example.org/a?b=%20c")!, "https://example.org/a?b=%20c")
    try check(Data([1, 2]), .bytes([1, 2]))
    for text in [
      "0", "-12.5", "0.00000000000000000000000000000001", "98765432109876543210987654321098765432",
    ] {
      try check(Decimal(string: text)!, .decimal(DecimalNumber(text)!))
    }
    let ref = Ref<Tag>(in: "z", "t")
    try check(ref, .reference(Reference(record: "t")))
    try check(Ref<Tag>(in: "ann/other", "t"), .reference(Reference(zone: "ann/other", record: "t")))
    try check(Mood.busy, "busy")
  }

  @Test("what does not decode is nil, and what cannot be stored throws")
  func refusals() throws {
    #expect(Int8(.int(300), in: "z") == nil && Int("5" as Value, in: "z") == nil && Mood("x", in: "z") == nil)
    #expect([Int](.array([1, "a"]), in: "z") == nil && Date(.int(1), in: "z") == nil)
    #expect(throws: StoreError.self) { try UInt64.max.value(in: "z") }
    #expect(throws: StoreError.self) { try Date(timeIntervalSince1970: .nan).value(in: "z") }
    #expect(throws: StoreError.self) { try Date.distantFuture.addingTimeInterval(1e13).value(in: "z") }
    #expect(throws: StoreError.self) { try Decimal.nan.value(in: "z") }
  }

  private class Base: Codable { var base = 1 }
  private final class Derived: Base {
    var own = [Int?]([nil, 2])
    enum CodingKeys: CodingKey { case own }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      own = try container.decode([Int?].self, forKey: .own)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(own, forKey: .own)
      try super.encode(to: container.superEncoder())
    }
  }

  private struct Everything: Codable, Equatable {
    enum Shape: Codable, Equatable {
      case dot
      case circle(radius: Double)
      case path([Pair])
    }
    struct Pair: Codable, Equatable { var x: Int, y: Int? }
    var shape = Shape.circle(radius: 2)
    var shapes = [Shape.dot, .path([Pair(x: 1, y: nil), Pair(x: 2, y: 3)])]
    var date = Date(timeIntervalSince1970: 10)
    var data = Data([9])
    var url = URL(string: "https://example.org")!
    var tag = Ref<Tag>(in: "z", "t")
    var byNumber = [1: "a"]
    var big = UInt8.max
    var nested = ["k": ["l": 1.5]]
    var none: String?
    var duration = Duration.milliseconds(1500)
    var small = Float16(0.5)
  }

  @Test("references have a form for what is not a store")
  func referencesAsText() throws {
    struct Named: Codable, Equatable {
      var photo: AssetReference?
      var tag: Ref<Tag>
    }
    let hash = try #require(ContentHash(String(repeating: "0a", count: 32)))
    let named = Named(photo: AssetReference(hash: hash, byteCount: 5), tag: Ref(in: "z", "t"))
    let json = try JSONEncoder().encode(named)
    #expect(try JSONDecoder().decode(Named.self, from: json) == named)
    let wrong = Data(#"{"tag": "z:t", "photo": {"hash": "0a", "byteCount": 5}}"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Named.self, from: wrong) }
    let stored = try ValueEncoder.encode(named, in: "z")
    #expect(try ValueDecoder.decode(Named.self, from: stored, in: "z") == named)
    guard case .map(let entries) = stored, case .asset? = entries["photo"] else {
      Issue.record("\(stored)")
      return
    }
  }

  @Test("Codable types are stored with the types of their parts, and read again")
  func codable() throws {
    let codec = ValueCodec<Everything>.ofCodable
    let everything = Everything()
    let stored = try codec.encode(everything, "z")
    #expect(codec.decode(stored, "z") == everything)
    guard case .map(let entries) = stored else {
      Issue.record("\(stored)")
      return
    }
    #expect(entries["date"] == .date(microseconds: 10_000_000) && entries["data"] == .bytes([9]))
    #expect(entries["tag"] == .reference(Reference(record: "t")) && entries["none"] == nil)
    #expect(entries["shape"] == .map(["circle": .map(["radius": .double(2)])]))
    let derived = try ValueEncoder.encode(Derived(), in: "z")
    #expect(try ValueDecoder.decode(Derived.self, from: derived, in: "z").own == [nil, 2])
    for other in [.null, 5, .map([:]), .map(["shape": .array([])])] as [Value] {
      #expect(codec.decode(other, "z") == nil)
    }
    #expect(
      ValueCodec<Item>.ofCodable.decode(.map(["text": "a", "done": true, "newer": 1]), "z")
        == Item(text: "a", done: true))
    // Whole numbers of 128 bits have no value of their own, and are refused where they are too large.
    #expect(try ValueEncoder.encode([Int128(5)], in: "z") == .array([5]))
    #expect(throws: StoreError.self) { try ValueEncoder.encode([Int128.max], in: "z") }
  }

  @Test("a text becomes another by edits of whole characters, and no more than needed")
  func textEdits() {
    func check(_ old: String, _ new: String, _ expected: [(Range<Int>, String)]) {
      let edits = TextEdit.edits(from: old, to: new)
      #expect(
        edits.map(\.removed) == expected.map(\.0) && edits.map(\.inserted) == expected.map(\.1), "\(edits)")
    }
    check("abc", "abc", [])
    check("", "abc", [(0..<0, "abc")])
    check("abc", "", [(0..<3, "")])
    check("the quick fox", "the slow fox", [(4..<9, "slow")])
    check("aXbYc", "aZbWc", [(3..<4, "W"), (1..<2, "Z")])
    // A family is seven scalars; one member more is another character.
    check("a👨‍👩‍👧b", "a👨‍👩‍👧‍👦b", [(1..<6, "👨‍👩‍👧‍👦")])
    // The same character written otherwise.
    check("caf\u{e9}", "cafe\u{301}", [(3..<4, "e\u{301}")])
  }

  @Test("edits give the new text, for random texts", arguments: 0..<40)
  func randomEdits(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let alphabet = ["a", "b", " ", "é", "e\u{301}", "👨‍👩‍👧", "🇩🇪", "\r\n", "\n"]
    func text() -> String {
      (0..<Int.random(in: 0..<30, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
        .joined()
    }
    for _ in 0..<50 {
      let (old, new) = (text(), text())
      var scalars = Array(old.unicodeScalars)
      for edit in TextEdit.edits(from: old, to: new) {
        scalars.replaceSubrange(edit.removed, with: Array(edit.inserted.unicodeScalars))
      }
      #expect(scalars == Array(new.unicodeScalars), "\(old.debugDescription) → \(new.debugDescription)")
    }
  }
}
