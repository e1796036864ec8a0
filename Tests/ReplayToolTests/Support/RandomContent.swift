import EventStore

/// Random numbers from a seed: SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// Makes values and transactions of every kind; unusual ones are frequent.
struct RandomContent {
  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

  mutating func text(max: Int = 12) -> String {
    let scalars: [Unicode.Scalar] = [
      "a", "b", " ", "é", "e", "\u{301}", "\0", "\n", "\"", "\\", "/", ":", "%", "\u{7f}", "\u{9b}",
      "\u{2028}", "😀",
      "\u{10ffff}", "\u{d7ff}", "\u{e000}", "{", "}",
    ]
    var text = String.UnicodeScalarView()
    for _ in 0..<below(max) { text.append(scalars.randomElement(using: &generator)!) }
    return String(text)
  }

  mutating func name(_ number: Int) -> Name { Name("\(number)\(text())") }

  mutating func value(depth: Int = 3) -> Value {
    switch below(depth > 0 ? 14 : 12) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &generator))
    case 2: return .int([.min, -1, 0, 1, .max, 1 << 53 + 1].randomElement(using: &generator)!)
    case 3: return .int(Int64(bitPattern: generator.next()))
    case 4: return .double(Double(bitPattern: generator.next()))
    case 5:
      return .double(
        [0, -0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1]
          .randomElement(using: &generator)!)
    case 6:
      return .decimal(
        DecimalNumber(coefficient: Int128(Int64(bitPattern: generator.next())), exponent: below(60) - 38)
          ?? DecimalNumber("1.5")!)
    case 7: return .string(text(max: 40))
    case 8: return .bytes((0..<below(20)).map { _ in UInt8.random(in: 0...255, using: &generator) })
    case 9: return .date(microseconds: Int64(bitPattern: generator.next()))
    case 10: return .uuid(UniqueID(rawValue: UInt128(generator.next()) << 64 | UInt128(generator.next())))
    case 11:
      let zone = Bool.random(using: &generator) ? ZoneID(owner: name(1), name: name(2)) : nil
      return .reference(
        Reference(zone: zone, record: name(3), rule: ReferenceRule.allCases.randomElement(using: &generator)!)
      )
    case 12: return .array((0..<below(4)).map { _ in value(depth: depth - 1) })
    default:
      var entries: [Name: Value] = [:]
      for number in 0..<below(4) { entries[name(number)] = value(depth: depth - 1) }
      // These two are equal as Swift strings.
      if below(3) == 0 {
        entries["\u{e9}"] = 1
        entries["e\u{301}"] = 2
      }
      return .map(entries)
    }
  }

  mutating func operation(canBeUnknown: Bool) -> LogOperation {
    let record = name(below(5))
    // No random zone has this name.
    let place = RecordID(zone: ZoneID(owner: name(below(5)), name: "elsewhere"), name: name(below(5)))
    switch below(canBeUnknown ? 8 : 7) {
    case 0: return .create(record: record, type: name(below(2)))
    case 1: return .delete(record: record)
    case 2: return .set(record: record, type: name(below(2)), field: name(below(3)), value: value())
    case 3: return .update(record: record, type: name(below(2)), field: name(below(3)), change())
    case 4:
      let amounts: [Value] = [.int(1), .int(.min), .decimal(DecimalNumber("-12.5e-7")!)]
      return .add(
        record: record, type: name(below(2)), field: name(below(3)),
        value: amounts.randomElement(using: &generator)!)
    case 5: return .moveAway(record: record, to: place)
    case 6: return .moveHere(record: record, type: name(below(2)), from: place)
    default:
      let payload = (0..<below(30)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      return .unknown(
        kind: [OperationKind.lastKnown.rawValue + 1, 77, .max].randomElement(using: &generator)!,
        payload: payload)
    }
  }

  mutating func change() -> FieldChange {
    switch OperationKind(rawValue: 1 + UInt64(below(Int(OperationKind.lastKnown.rawValue)))) {
    case .insert: return .insert(value())
    case .remove: return .remove(value())
    case .put: return .put(key: name(below(3)), value())
    case .removeKey: return .removeKey(name(below(3)))
    case .insertElements: return .insertElements((0...below(3)).map { _ in value() }, after: unit())
    case .moveElement: return .moveElement(unit(), after: below(2) == 0 ? nil : unit())
    case .replaceElement: return .replaceElement(unit(), value())
    case .removeElements: return .removeElements((0...below(3)).map { _ in run() })
    case .removeText: return .removeText((0...below(3)).map { _ in run() })
    case .contribute: return .contribute(value())
    case .insertText: return .insertText("text \(below(9))", after: below(2) == 0 ? nil : unit())
    case .add: return .add(.int(Int64(below(9))))
    case .set, .create, .delete, .moveAway, .moveHere, .compact, .unknown: return .set(value())
    }
  }

  mutating func unit() -> UnitReference {
    let maker = UnitMaker(replica: ReplicaID(rawValue: UInt128(below(3))), epoch: UInt32(below(2)))
    return UnitReference(maker: below(2) == 0 ? nil : maker, number: UInt64(below(1000)))
  }

  mutating func run() -> UnitSpan { UnitSpan(first: unit(), count: 1 + UInt64(below(9))) }

  /// A transaction with this sequence of a replica in a zone.
  mutating func transaction(_ replica: ReplicaID, sequence: UInt64, zone: ZoneID) -> LogTransaction {
    var operations: [LogOperation] = []
    for _ in 0...below(5) { operations.append(operation(canBeUnknown: true)) }
    let isUnknown = operations.contains { if case .unknown = $0 { true } else { false } }
    var names: [Name]?
    if isUnknown { names = (0..<below(4)).map { Name("table \($0) \(text())") } }
    func maybe<T>(_ value: T) -> T? { Bool.random(using: &generator) ? value : nil }
    return LogTransaction(
      replica: replica, epoch: UInt32(truncatingIfNeeded: sequence >> 32), sequence: sequence, zone: zone,
      timestamp: Timestamp(
        milliseconds: 1_769_850_000_000 + generator.next() % 100_000, counter: UInt16(below(3))),
      writeID: maybe(.max - 3), author: maybe(text()), label: maybe(text(max: 60)),
      schemaVersion: maybe(.max),
      operations: operations, names: names)
  }
}
