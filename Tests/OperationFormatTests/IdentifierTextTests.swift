import OperationFormat
import Testing

@Suite("Identifiers as text")
struct IdentifierTextTests {
  /// The problem of a text: an identifier that it gives must have exactly this text.
  static func fault<T: LosslessStringConvertible>(_ text: String, _ type: T.Type) -> String? {
    guard let thing = T(text) else { return nil }
    return thing.description.utf8.elementsEqual(text.utf8) ? nil : "\(text) is written again as \(thing)"
  }

  /// The problems of an identifier's round trip, and of its text cut at each byte, with each bit flipped, and
  /// mutated.
  static func faults<T: LosslessStringConvertible & Equatable>(
    of thing: T, using random: inout SeededGenerator
  ) -> [String] {
    let text = thing.description
    let utf8 = Array(text.utf8)
    var faults = T(text) == thing ? [] : ["\(text) gives another thing"]
    var texts = (0..<utf8.count).map { Array(utf8.prefix($0)) }
    for bit in 0..<(8 * utf8.count) {
      var flipped = utf8
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      texts.append(flipped)
    }
    for _ in 0..<10 { texts.append(mutated(utf8, using: &random)) }
    for text in texts {
      if let fault = fault(String(decoding: text, as: UTF8.self), T.self) { faults.append(fault) }
    }
    return faults
  }

  @Test("Random identifiers, cut, flipped and mutated")
  func roundTrips() {
    var random = SeededGenerator(31)
    var faults: [String] = []
    for _ in 0..<50 {
      faults += Self.faults(of: random.replica(), using: &random)
      faults += Self.faults(of: IncarnationID(rawValue: random.replica().rawValue), using: &random)
      faults += Self.faults(of: random.hash(), using: &random)
      faults += Self.faults(of: Timestamp(rawValue: random.number()), using: &random)
      faults += Self.faults(of: random.transactionID(), using: &random)
      faults += Self.faults(
        of: OperationID(transaction: random.transactionID(), index: UInt32(random.below(1 << 32))),
        using: &random)
      faults += Self.faults(of: random.zone(), using: &random)
      faults += Self.faults(of: RecordID(zone: random.zone(), name: random.name()), using: &random)
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }

  @Test("Identifiers of 128 bits")
  func identifiers() {
    let id = ReplicaID(rawValue: 0x0123_4567_89ab_cdef_0000_0000_0000_00ff)
    let text = "0123456789abcdef00000000000000ff"
    #expect("\(id)" == text)
    #expect(ReplicaID(text) == id)
    #expect(IncarnationID(text)?.rawValue == id.rawValue)
    for wrong in ["", "0", text + "0", text.uppercased(), "+" + text.dropFirst(), "0x" + text.dropFirst(2)] {
      #expect(ReplicaID(wrong) == nil)
      #expect(IncarnationID(wrong) == nil)
    }
    #expect(ReplicaID(rawValue: 0) < ReplicaID(rawValue: 1))
    #expect(ReplicaID(rawValue: 1 << 127) > ReplicaID(rawValue: 1))
  }

  @Test("UUIDs in lower and upper case")
  func uniqueIDs() {
    let id = UniqueID(rawValue: 0x0123_4567_89ab_cdef_0011_2233_4455_66ff)
    let text = "01234567-89ab-cdef-0011-2233445566ff"
    #expect("\(id)" == text)
    #expect(UniqueID(text) == id)
    #expect(UniqueID(text.uppercased()) == id)
    #expect(UniqueID("01234567-89AB-cdef-0011-2233445566fF") == id)
    let wrong = [
      "", text + "0", String(text.dropLast()), "0123456789abcdef00112233445566ff", "{\(text)}",
      "0123456-789ab-cdef-0011-2233445566ff", "01234567-89ab-cdef-0011-2233445566fg",
    ]
    for text in wrong { #expect(UniqueID(text) == nil) }
    for bit in 0..<128 {
      let id = UniqueID(rawValue: 1 << UInt128(bit))
      #expect(UniqueID(id.description) == id)
    }
  }

  @Test("Timestamps")
  func timestamps() {
    let timestamp = Timestamp(milliseconds: 1_631_231_046_000, counter: 3)
    #expect("\(timestamp)" == "1631231046000.3")
    #expect(timestamp.rawValue == 1_631_231_046_000 << 16 + 3)
    #expect(Timestamp("1631231046000.3") == timestamp)
    #expect(Timestamp("281474976710655.65535") == Timestamp(rawValue: .max))
    #expect(Timestamp("0.0") == Timestamp(rawValue: 0))
    let wrong = [
      "", ".", "1", "1.", ".1", "01.0", "1.00", "+1.0", "-1.0", "1.0 ", "281474976710656.0", "0.65536",
      "1.0.0",
      "99999999999999999999999999.0", "18446744073709551616.0", "١.٠",
    ]
    for text in wrong { #expect(Timestamp(text) == nil) }
    #expect(Timestamp("1.65535")! < Timestamp("2.0")!)
  }

  @Test("Transactions and operations")
  func transactions() {
    let replica = "000000000000000000000000000000aa"
    let id = TransactionID(replica: ReplicaID(rawValue: 0xaa), epoch: 7, sequence: 42)
    #expect("\(id)" == "\(replica).7.42")
    #expect(TransactionID("\(replica).7.42") == id)
    #expect(TransactionID("\(replica).4294967295.18446744073709551615") != nil)
    let operation = OperationID(transaction: id, index: 5)
    #expect("\(operation)" == "\(replica).7.42.5")
    #expect(OperationID("\(replica).7.42.5") == operation)
    let wrong = [
      "", replica, "\(replica).7", "\(replica).7.0", "\(replica).4294967296.1",
      "\(replica).7.18446744073709551616",
      "\(replica).7.42.", "\(replica).-1.42", "\(replica)..42",
    ]
    for text in wrong { #expect(TransactionID(text) == nil) }
    #expect(TransactionID("\(replica).7.42.5") == nil)
    #expect(OperationID("\(replica).7.42") == nil)
    #expect(OperationID("\(replica).7.42.4294967296") == nil)
    let ordered = [
      id, TransactionID(replica: id.replica, epoch: 7, sequence: 43),
      TransactionID(replica: id.replica, epoch: 8, sequence: 1),
      TransactionID(replica: ReplicaID(rawValue: 0xab), epoch: 0, sequence: 1),
    ]
    #expect(ordered.sorted() == ordered)
    #expect(operation < OperationID(transaction: id, index: 6))
    #expect(operation < OperationID(transaction: ordered[1], index: 0))
  }

  @Test("Zones and records")
  func zones() {
    let texts: [(ZoneID, String)] = [
      (ZoneID(name: "notes"), "notes"),
      (ZoneID(owner: "ann", name: "notes"), "ann/notes"),
      (ZoneID(name: "a/b:c%d"), "a%2Fb%3Ac%25d"),
      (ZoneID(owner: "\n", name: "\u{7f}\u{85}é"), "%0A/%7F%C2%85é"),
      (ZoneID(name: " "), " "),
      (ZoneID(name: Name(String(repeating: "/", count: 128))), String(repeating: "%2F", count: 128)),
    ]
    for (zone, text) in texts {
      #expect(zone.description == text)
      #expect(ZoneID(text) == zone)
      let record = RecordID(zone: zone, name: "a:b/c%2F")
      #expect(record.description == text + ":a:b/c%2F")
      #expect(RecordID(text + ":a:b/c%2F") == record)
    }
    let wrong = [
      "", "/", "/a", "a/", "a/b/c", "a:", "%", "%2", "%2f", "%41", "%FF", "%C2", "a%", "\n", "\u{85}",
      String(repeating: "a", count: 129),
    ]
    for text in wrong {
      #expect(ZoneID(text) == nil)
      #expect(RecordID(text) == nil)
    }
    #expect(ZoneID(String(repeating: "a", count: 128)) != nil)
    #expect(RecordID("notes") == nil)
    #expect(RecordID("notes:") == nil)
    #expect(RecordID("a/b/c:x") == nil)
    #expect(RecordID(":x") == nil)
    #expect(RecordID("notes:" + String(repeating: "a", count: 255)) != nil)
    #expect(RecordID("notes:" + String(repeating: "a", count: 256)) == nil)
    // A combining accent, which a Swift character would join with the separator.
    let accented = RecordID(zone: ZoneID(name: "notes"), name: "\u{301}x")
    #expect(RecordID(accented.description) == accented)
    let accentedZone = ZoneID(owner: "ann", name: "\u{301}x")
    #expect(ZoneID(accentedZone.description) == accentedZone)
  }

  @Test("Zones and records in order")
  func order() {
    let zones = [
      ZoneID(name: "a"), ZoneID(name: "b"), ZoneID(owner: "a", name: "a"), ZoneID(owner: "b", name: "a"),
    ]
    #expect(zones.sorted() == zones)
    let records = zones.flatMap { [RecordID(zone: $0, name: "a"), RecordID(zone: $0, name: "b")] }
    #expect(records.shuffled().sorted() == records)
  }
}
