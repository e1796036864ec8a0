import Testing

@testable import OperationFormat

@Suite("Names that are canonically equal in Unicode")
struct NameTests {
  /// Two different names for each pair, although Swift's strings are equal.
  static let pairs: [(String, String)] = [
    ("é", "e\u{301}"), ("Å", "\u{212b}"), ("가", "\u{1100}\u{1161}"), ("ṩ", "s\u{307}\u{323}"),
  ]

  @Test("Canonically equal names are different", arguments: pairs)
  func canonicallyEqual(a: String, b: String) throws {
    #expect(a == b)
    #expect((Name(a) == Name(b)) == false)
    #expect(Name(a) != Name(b))
    #expect((Name(a) < Name(b)) != (Name(b) < Name(a)))
    #expect(Set([Name(a), Name(b)]).count == 2)
    #expect((Value.string(a) == Value.string(b)) == false)
    #expect(Value.string(a) != Value.string(b))
    #expect(Set([Value.string(a), Value.string(b)]).count == 2)
    #expect(ZoneID(name: Name(a)) != ZoneID(name: Name(b)))
    let map = Value.map([Name(a): 1, Name(b): 2])
    let bytes = try map.encoded()
    let again = try Value(decoding: bytes.span.bytes)
    #expect(again == map)
  }

  @Test("A transaction keeps canonically equal names as different names", arguments: pairs)
  func transactions(a: String, b: String) throws {
    var transaction = Examples.minimal
    transaction.operations = [.create(record: Name(a), type: "T"), .create(record: Name(b), type: "T")]
    transaction.author = a
    var other = transaction
    other.author = b
    #expect(transaction != other)
    let bytes = try transaction.encoded()
    #expect(bytes == NaiveTransaction(transaction).bytes)
    let again = try LogTransaction(decoding: bytes.span.bytes)
    #expect(again == transaction)
    #expect(again != other)
  }

  @Test("Order, equality and hash are those of the UTF-8")
  func order() {
    var random = SeededGenerator(41)
    for _ in 0..<5000 {
      let a = random.name()
      let b = random.name()
      let (left, right) = (Array(a.rawValue.utf8), Array(b.rawValue.utf8))
      #expect((a < b) == left.lexicographicallyPrecedes(right), "seed \(random.seed)")
      #expect((a == b) == (left == right), "seed \(random.seed)")
      #expect(a.hashValue == Name(String(decoding: left, as: UTF8.self)).hashValue, "seed \(random.seed)")
    }
    #expect(Name("a").description == "a")
    #expect(Name("") < Name("a"))
  }

  @Test("The table of names finds each of 70,000 names, also after it was emptied")
  func table() {
    var table = NameTable()
    for round in 0..<3 {
      table.removeAll()
      // Few different hashes, so that most searches pass other names.
      let hashes = (0..<2000).map { ($0 + round) % 97 &* 0x9e37_79b9 }
      for (number, hash) in hashes.enumerated() {
        var search = table.search(hash: hash)
        var others = 0
        while table.next(&search) != nil { others += 1 }
        #expect(others == number / 97)
        table.insert(search)
      }
      #expect(table.count == 2000)
    }
    var builder = BodyEncoder()
    for round in 0..<2 {
      builder.removeAll()
      let names = (0..<70_000).map { Name("\(round)-\($0)") }
      #expect(names.indices.allSatisfy { builder.nameIndex(names[$0]) == $0 })
      #expect(names.indices.allSatisfy { builder.nameIndex(names[$0]) == $0 })
    }
  }
}
