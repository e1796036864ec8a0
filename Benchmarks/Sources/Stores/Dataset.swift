import EventStore

/// Records of 4 fields of 32 bytes, and changes of them, the same in each run.
package struct Dataset {
  package static let zone = ZoneID(name: "bench")
  package static let type: Name = "item"
  package static let fieldNames = (0..<4).map { "field\($0)" }
  package static let fields = fieldNames.map { Name($0) }

  /// One change of a field.
  package struct Change {
    package var record: Int
    package var field: Int
    package var value: String

    package init(record: Int, field: Int, value: String) {
      self.record = record
      self.field = field
      self.value = value
    }
  }

  /// A number that can only be computed by reading the text.
  package static func weight(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { UInt64($0.count) &+ UInt64($0.first ?? 0) &* 31 &+ UInt64($0.last ?? 0) &* 131 }
  }

  package static func weight(_ text: UTF8Span) -> UInt64 {
    let bytes = text.span
    guard !bytes.isEmpty else { return 0 }
    return UInt64(bytes.count) &+ UInt64(bytes[0]) &* 31 &+ UInt64(bytes[bytes.count - 1]) &* 131
  }

  package let names: [String]
  package let ids: [RecordID]

  package init(records: Int) {
    var random = Random(seed: 7)
    var names: [String] = []
    for index in 0..<records {
      // Like UUIDs: not in order, and not short.
      names.append("\(random.text(24))-\(index)")
    }
    self.names = names
    ids = names.map { RecordID(zone: Self.zone, name: Name($0)) }
  }

  /// The initial fields of a record.
  package func values(of record: Int) -> [String] {
    var random = Random(seed: UInt64(record) &* 0x9e37_79b9 &+ 1)
    return (0..<4).map { _ in random.text(32) }
  }

  /// A copy of a record's name in new memory. Copies made in the order of their use are in memory in that
  /// order, like names that an app has just received. So no participant pays for finding a name.
  package func freshName(_ record: Int) -> String {
    String(decoding: Array(names[record].utf8), as: UTF8.self)
  }

  package func changes(_ count: Int, seed: UInt64) -> [Change] {
    var random = Random(seed: seed)
    return (0..<count).map { _ in
      Change(record: random.below(names.count), field: random.below(4), value: random.text(32))
    }
  }
}

/// SplitMix64.
package struct Random: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Random letters and digits.
  package mutating func text(_ count: Int) -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_".utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for _ in 0..<count { bytes.append(letters[Int(next() & 63)]) }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// FNV-1a of texts, in order.
package struct TextDigest {
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init() {}

  package mutating func add(_ text: String) {
    for byte in text.utf8 { add(byte) }
    add(0)
  }

  private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
