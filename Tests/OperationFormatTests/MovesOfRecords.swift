import Testing

@testable import OperationFormat

@Suite("Moves of records in bytes")
struct MovesOfRecords {
  private func moved(to place: RecordID, from zone: ZoneID = ZoneID(name: "z")) -> LogTransaction {
    var transaction = Examples.minimal
    transaction.zone = zone
    transaction.operations = [.moveAway(record: "r", to: place)]
    return transaction
  }

  private func code(_ change: (inout NaiveTransaction) -> Void) -> FormatError.Code? {
    var naive = NaiveTransaction(Examples.moves)
    change(&naive)
    return Codec.transaction.code(naive.bytes)
  }

  @Test("are decoded again, and every cut or flipped bit gives an error or a valid move")
  func roundTrip() {
    let faults = Codec.transaction.faults(of: Examples.moves)
    #expect(faults.isEmpty)
    #expect(code { _ in } == nil)
  }

  @Test("The other place must not be the record's own, in both directions")
  func ownPlace() {
    let zones = [ZoneID(name: "z"), ZoneID(owner: "ann", name: "z"), ZoneID(name: "e\u{301}")]
    for zone in zones {
      for other in zones + [ZoneID(name: "\u{e9}")] {
        for name in ["r", "s"] as [Name] {
          let place = RecordID(zone: other, name: name)
          // In bytes no owner is the owner of the log, as whom the zone's own reader sees it.
          let isOwn = other == ZoneID(name: zone.name) && name == "r"
          let isNameless = zone.owner.byteCount > 0 && other.owner.byteCount == 0
          let refusal: FormatError.Code? =
            isNameless ? .accountUnknown : other == zone && name == "r" ? .invalid : nil
          var transaction = moved(to: place, from: zone)
          for operation in [
            .moveAway(record: "r", to: place), .moveHere(record: "r", type: "T", from: place),
          ]
            as [LogOperation]
          {
            transaction.operations = [operation]
            #expect(Codec.transaction.code(encoding: transaction) == refusal)
            let bytes = NaiveTransaction(transaction).bytes
            #expect(Codec.transaction.code(bytes) == (isOwn ? .invalid : nil))
            // A segment is checked without building a transaction.
            var summary = SegmentSummary(incarnation: IncarnationID(rawValue: 1))
            var found: FormatError.Code?
            do throws(FormatError) { try summary.add(bytes.span.bytes) } catch { found = error.code }
            #expect(found == (isOwn ? .invalid : nil))
          }
        }
      }
    }
  }

  @Test("Names of the other place have limits, in the encoder and in the decoder")
  func limits() {
    func name(_ bytes: Int) -> Name { Name(String(repeating: "n", count: bytes)) }
    for (place, code): (RecordID, FormatError.Code?) in [
      (RecordID(zone: ZoneID(owner: name(128), name: name(128)), name: name(255)), nil),
      (RecordID(zone: ZoneID(owner: name(129), name: "b"), name: "r"), .limitExceeded),
      (RecordID(zone: ZoneID(name: name(129)), name: "r"), .limitExceeded),
      (RecordID(zone: ZoneID(name: "b"), name: name(256)), .limitExceeded),
      (RecordID(zone: ZoneID(name: ""), name: "r"), .invalid),
      (RecordID(zone: ZoneID(owner: "o", name: ""), name: "r"), .invalid),
      (RecordID(zone: ZoneID(name: "b"), name: ""), .invalid),
    ] {
      let transaction = moved(to: place)
      #expect(Codec.transaction.code(encoding: transaction) == code)
      #expect(Codec.transaction.code(NaiveTransaction(transaction).bytes) == code)
    }
  }

  @Test("Payloads that are not moves are refused")
  func hostile() {
    #expect(code { $0.operations[0].payload = [] } == .truncated)
    #expect(code { $0.operations[0].payload = [0] } == .truncated)
    #expect(code { $0.operations[0].payload = [0, 0, 1, 0x62] } == .truncated)
    #expect(code { $0.operations[0].payload = [0, 0, 1, 0x62, 2, 0x72] } == .truncated)
    #expect(code { $0.operations[0].payload = [0, 0, 1, 0x62, 1, 0x72, 0] } == .trailingBytes)
    #expect(code { $0.operations[0].payload = [0, 0, 1, 0xff, 1, 0x72] } == .invalidUTF8)
    #expect(code { $0.operations[0].payload = [0, 1, 0xff, 1, 0x62, 1, 0x72] } == .invalidUTF8)
    #expect(code { $0.operations[0].payload = [0, 0, 1, 0x62, 1, 0xff] } == .invalidUTF8)
    #expect(code { $0.operations[0].payload = [9, 0, 1, 0x62, 1, 0x72] } == .invalid)
    #expect(code { $0.operations[0].payload = [0, 0x80, 0, 1, 0x62, 1, 0x72] } == .nonCanonical)
    let huge: [UInt8] = [0] + [UInt8](repeating: 0xff, count: 9) + [1, 1, 0x62, 1, 0x72]
    #expect(code { $0.operations[0].payload = huge } != nil)
    // A byte count that reaches beyond the payload.
    #expect(code { $0.operations[0].payload = [0, 0, 1, 0x62, 3, 0x72] } == .truncated)
    // A move here has a type.
    #expect(code { $0.operations[1].payload = [1, 0, 2, 0xc3, 0xbc, 1, 0x73] } != nil)
    var random = SeededGenerator(71)
    let bytes = NaiveTransaction(Examples.moves).bytes
    for _ in 0..<5000 {
      let fault = Codec.transaction.fault(mutated(bytes, using: &random))
      #expect(fault == nil, "seed \(random.seed)")
    }
  }
}
