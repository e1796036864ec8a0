import OperationFormat

/// Random values of every type; unusual ones are frequent.
extension SeededGenerator {
  mutating func text(bytesMax: Int) -> String {
    let scalars: [Unicode.Scalar] = [
      "a", "b", "z", "0", "/", ":", "%", " ", "\u{0}", "\u{7f}", "\u{85}", "é", "e", "\u{301}", "ß", "中",
      "\u{feff}",
      "😀", "\u{10ffff}",
    ]
    var text = ""
    for _ in 0..<below(8) {
      let scalar = scalars[below(scalars.count)]
      if text.utf8.count + UTF8.width(scalar) <= bytesMax { text.unicodeScalars.append(scalar) }
    }
    return text
  }

  mutating func name() -> Name {
    let text = text(bytesMax: 20)
    return text.isEmpty ? "x" : Name(text)
  }

  mutating func zone() -> ZoneID { ZoneID(owner: below(2) == 0 ? "" : name(), name: name()) }

  mutating func replica() -> ReplicaID { ReplicaID(rawValue: UInt128(next()) << 64 | UInt128(next())) }

  mutating func transactionID() -> TransactionID {
    TransactionID(
      replica: replica(), epoch: UInt32(truncatingIfNeeded: number()), sequence: max(1, number()))
  }

  mutating func decimal() -> DecimalNumber {
    while true {
      let wide = Int128(truncatingIfNeeded: UInt128(next()) << 64 | UInt128(next()))
      let coefficient = wide >> Int128(below(128))
      if let number = DecimalNumber(coefficient: coefficient, exponent: below(77) - 38) { return number }
    }
  }

  mutating func hash() -> ContentHash { ContentHash(bytes: bytes(32).span.bytes)! }

  mutating func value(depth: Int = 3) -> Value {
    switch below(depth > 1 ? 15 : 12) {
    case 0: return .null
    case 1: return .bool(below(2) == 0)
    case 2: return .int(Int64(bitPattern: number()) * (below(2) == 0 ? 1 : -1))
    case 3:
      return .double([0, -0.0, 1.5, .infinity, -.infinity, .nan, .pi, .leastNonzeroMagnitude][below(8)])
    case 4: return .double(Double(bitPattern: next()))
    case 5: return .decimal(decimal())
    case 6: return .string(text(bytesMax: 100))
    case 7: return .bytes(bytes(below(20)))
    case 8: return .date(microseconds: Int64(bitPattern: next()))
    case 9: return .uuid(UniqueID(rawValue: replica().rawValue))
    case 10:
      return .reference(
        Reference(
          zone: below(2) == 0 ? nil : zone(), record: name(), rule: ReferenceRule(rawValue: UInt8(below(3)))!)
      )
    case 11: return .asset(AssetReference(hash: hash(), byteCount: number()))
    case 12, 13: return .array((0..<below(4)).map { _ in value(depth: depth - 1) })
    default:
      var entries: [Name: Value] = [:]
      for _ in 0..<below(4) { entries[Name(text(bytesMax: 20))] = value(depth: depth - 1) }
      return .map(entries)
    }
  }

  mutating func operation(names: [Name], allowsUnknown: Bool) -> LogOperation {
    func name() -> Name { names[below(names.count)] }
    // No zone of a random transaction has this name.
    func place() -> RecordID {
      RecordID(zone: ZoneID(owner: below(2) == 0 ? "" : self.name(), name: "elsewhere"), name: self.name())
    }
    switch below(allowsUnknown ? 10 : 9) {
    case 0: return .create(record: name(), type: name())
    case 1: return .delete(record: name())
    case 6: return .moveAway(record: name(), to: place())
    case 7: return .moveHere(record: name(), type: name(), from: place())
    case 2:
      let amount: Value = below(2) == 0 ? .int(Int64(bitPattern: number())) : .decimal(decimal())
      return .add(record: name(), type: name(), field: name(), value: amount)
    case 3, 4: return .update(record: name(), type: name(), field: name(), change())
    case 8: return .compact(floor: max(1, number()))
    case 9:
      return .unknown(kind: max(OperationKind.lastKnown.rawValue + 1, number()), payload: bytes(below(10)))
    default: return .set(record: name(), type: name(), field: name(), value: value(depth: 2))
    }
  }

  mutating func change() -> FieldChange {
    switch OperationKind(rawValue: 1 + UInt64(below(Int(OperationKind.lastKnown.rawValue)))) {
    case .insert: return .insert(value(depth: 2))
    case .remove: return .remove(value(depth: 2))
    case .put: return .put(key: Name(text(bytesMax: 20)), value(depth: 2))
    case .removeKey: return .removeKey(Name(text(bytesMax: 20)))
    case .insertElements: return .insertElements((0...below(4)).map { _ in value(depth: 1) }, after: origin())
    case .moveElement: return .moveElement(unit(), after: origin())
    case .replaceElement: return .replaceElement(unit(), value(depth: 2))
    case .removeElements: return .removeElements((0...below(4)).map { _ in run() })
    case .removeText: return .removeText((0...below(4)).map { _ in run() })
    case .contribute: return .contribute(value(depth: 2))
    case .insertText: return .insertText("x" + text(bytesMax: 40), after: origin())
    case .add: return .add(.int(Int64(below(9))))
    case .set, .create, .delete, .moveAway, .moveHere, .compact, .unknown: return .set(value(depth: 2))
    }
  }

  mutating func unit() -> UnitReference {
    let maker = below(2) == 0 ? nil : UnitMaker(replica: ReplicaID(rawValue: UInt128(below(3))), epoch: 1)
    return UnitReference(maker: maker, number: number())
  }

  mutating func origin() -> UnitReference? { below(3) == 0 ? nil : unit() }

  mutating func run() -> UnitSpan {
    let first = unit()
    return UnitSpan(first: first, count: 1 + UInt64(below(5)) % max(1, .max - first.number))
  }

  mutating func transaction(allowsUnknown: Bool = false) -> LogTransaction {
    let names = (0..<(1 + below(14))).map { _ in name() }
    let id = transactionID()
    var transaction = LogTransaction(
      replica: id.replica, epoch: id.epoch, sequence: id.sequence, zone: ZoneID(name: name()),
      timestamp: Timestamp(rawValue: next()),
      operations: (0..<(1 + below(8))).map { _ in operation(names: names, allowsUnknown: allowsUnknown) })
    if below(2) == 0 {
      transaction.base = Base(
        incarnation: IncarnationID(rawValue: replica().rawValue), offset: max(1, number()))
    }
    if below(3) == 0 { transaction.parent = transactionID() }
    if below(3) == 0 { transaction.writeID = next() }
    if below(3) == 0 { transaction.author = text(bytesMax: 20) }
    if below(3) == 0 { transaction.label = text(bytesMax: 20) }
    if below(3) == 0 { transaction.schemaVersion = number() }
    return transaction
  }
}

/// Random valid headers of segments.
extension SeededGenerator {
  mutating func incarnation() -> IncarnationID { IncarnationID(rawValue: replica().rawValue) }

  mutating func segmentHeader() -> SegmentHeader {
    let operations = 1 + below(below(2) == 0 ? 5 : Limits.segmentOperationsMax)
    let transactions = UInt64(1 + below(operations))
    let first = min(max(1, number()), UInt64.max - transactions + 1)
    let base = below(3) == 0 ? 0 : max(1, number())
    let least = next() >> UInt64(below(64))
    let unpacked = UInt64(2 * operations + below(1 << 20))
    let packed = max(unpacked >> 15, 1) + UInt64(below(Int(unpacked) / 2))
    let codec = packed < unpacked && below(2) == 0 ? SegmentHeader.Codec.zstandard : .none
    let version: UInt8 = below(3) == 0 ? 1 : 2
    var header = SegmentHeader(
      version: version, zone: version == 1 ? zone() : ZoneID(name: name()), incarnation: incarnation(),
      replica: replica(), epoch: UInt32(truncatingIfNeeded: number()),
      sequences: first...(first + transactions - 1), base: base, baseProof: base == 0 ? .zero : hash(),
      operationCount: UInt64(operations),
      timestamps: Timestamp(
        rawValue: least)...Timestamp(rawValue: max(least, next() >> UInt64(below(64)))),
      codec: codec, unpackedBytes: unpacked, packedBytes: codec == .none ? unpacked : packed,
      contentHash: hash(), previousHash: below(2) == 0 ? .zero : hash())
    guard version == 2 else { return header }
    if below(3) == 0 {
      (header.isSealed, header.keyID) = (true, UInt32(1 + below(1000)))
      (header.operationCount, header.unpackedBytes) = (0, 0)
      header.timestamps = Timestamp(rawValue: 0)...Timestamp(rawValue: 0)
    }
    if below(3) == 0 { header.device = DeviceID(rawValue: replica().rawValue) }
    if below(3) == 0 { header.former = formerPlace() }
    return header
  }

  private mutating func formerPlace() -> FormerPlace {
    let offset = UInt64(1 + below(1 << 40))
    let base = UInt64(below(2) == 0 ? 0 : below(Int(offset)))
    return FormerPlace(
      incarnation: incarnation(), offset: offset, base: base, baseChain: base == 0 ? .zero : hash(),
      previousHash: hash(), keyID: UInt32(below(3)),
      device: below(2) == 0 ? nil : DeviceID(rawValue: replica().rawValue))
  }
}
