import EventStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// A value in JSON. Null, bools, integers and strings are plain JSON; any other value is an object with one
// member, which names its kind:
//
// | value | JSON |
// |---|---|
// | null, bool, int, string | null, true, 5, "text"; integers are exact to 64 bits |
// | double | {"double":1.5}, {"double":"nan"}, {"double":"inf"}, {"double":"-inf"} |
// | decimal | {"decimal":"1.5"} |
// | bytes | {"bytes":"base64"} |
// | date | {"date":"2026-01-31T09:05:00.000000Z"}, to the microsecond |
// | uuid | {"uuid":"…"} |
// | reference | {"reference":{"record":"name"}}, with "zone" if it is in another, and "rule" if it has one |
// | asset | {"asset":{"bytes":123,"sha256":"…"}} |
// | array | {"array":[…]} |
// | map | {"map":{…}} |

/// The kinds of values that JSON does not have.
private enum ValueWord: String {
  case double, decimal, bytes, date, uuid, reference, asset, array, map
}

extension JSON {
  init(_ value: Value) {
    self =
      switch value {
      case .null: .null
      case .bool(let isTrue): .bool(isTrue)
      case .int(let number): .number(number)
      case .string(let text): .string(text)
      case .double(let number): Self.tagged(.double, Self.double(number))
      case .decimal(let number): Self.tagged(.decimal, .text(number))
      case .bytes(let bytes): Self.tagged(.bytes, .string(Data(bytes).base64EncodedString()))
      case .date(let microseconds):
        Self.tagged(.date, .string(CalendarTime.text(microseconds: microseconds)))
      case .uuid(let id): Self.tagged(.uuid, .text(id))
      case .reference(let reference): Self.tagged(.reference, Self.reference(reference))
      case .asset(let asset):
        Self.tagged(.asset, .object(["bytes": .number(asset.byteCount), "sha256": .text(asset.hash)]))
      case .array(let elements): Self.tagged(.array, .array(elements.map { JSON($0) }))
      case .map(let entries): Self.tagged(.map, .object(entries.mapValues { JSON($0) }))
      }
  }

  private static func tagged(_ word: ValueWord, _ content: JSON) -> JSON {
    .object([Name(word.rawValue): content])
  }

  /// The shortest text that gives the same number again; a quoted text for numbers that JSON does not have.
  private static func double(_ number: Double) -> JSON {
    if number.isNaN { return .string("nan") }
    if number.isInfinite { return .string(number < 0 ? "-inf" : "inf") }
    return .fraction("\(number)")
  }

  private static func reference(_ reference: Reference) -> JSON {
    .members([
      "record": .text(reference.record), "zone": reference.zone.map { .text($0) },
      "rule": reference.rule == .none ? nil : .string("\(reference.rule)"),
    ])
  }
}

extension Value {
  /// Reads a value. The encoder checks its size and depth.
  init(_ json: JSON, in path: String) throws(JSONError) {
    switch json {
    case .null: self = .null
    case .bool(let isTrue): self = .bool(isTrue)
    case .string(let text): self = .string(text)
    case .integer(let number):
      guard let number = Int64(exactly: number) else {
        throw JSONError(in: path, "\(number) does not fit 64 bits")
      }
      self = .int(number)
    case .fraction(let text):
      throw JSONError(
        in: path,
        #"a number with a fraction must be written as {"double":\#(text)} or {"decimal":"\#(text)"}"#)
    case .array: throw JSONError(in: path, #"an array must be written as {"array":[…]}"#)
    case .object(let members):
      guard members.count == 1, let (kind, content) = members.first else {
        throw JSONError(in: path, "an object for a value must have one member, which names its kind")
      }
      self = try Self.tagged(kind, content, in: path.isEmpty ? "\(kind)" : "\(path).\(kind)")
    }
  }

  private static func tagged(_ kind: Name, _ content: JSON, in path: String) throws(JSONError) -> Value {
    guard let word = ValueWord(rawValue: kind.rawValue) else {
      throw JSONError(in: path, "a value of an unknown kind")
    }
    switch word {
    case .double: return .double(try double(content, in: path))
    case .decimal: return .decimal(try parsed(content, "a decimal number in quotes", in: path))
    case .uuid: return .uuid(try parsed(content, "a UUID", in: path))
    case .bytes:
      guard case .string(let text) = content, let data = Data(base64Encoded: text) else {
        throw JSONError(in: path, "bytes in base64 were expected")
      }
      return .bytes(Array(data))
    case .date:
      guard case .string(let text) = content, let microseconds = CalendarTime.microseconds(text) else {
        throw JSONError(in: path, "a time as 2026-01-31T09:05:00.000000Z was expected")
      }
      return .date(microseconds: microseconds)
    case .reference: return .reference(try reference(JSONMembers(content, in: path)))
    case .asset:
      var members = try JSONMembers(content, in: path)
      let hash = try members.parsed("sha256", as: ContentHash.self, "64 hexadecimal digits")
      let asset = AssetReference(hash: hash, byteCount: try members.integer("bytes"))
      try members.finish()
      return .asset(asset)
    case .array:
      guard case .array(let elements) = content else { throw JSONError(in: path, "an array was expected") }
      var values: [Value] = []
      for (index, element) in elements.enumerated() {
        values.append(try Value(element, in: "\(path)[\(index)]"))
      }
      return .array(values)
    case .map:
      guard case .object(let entries) = content else { throw JSONError(in: path, "an object was expected") }
      var values: [Name: Value] = [:]
      for (key, entry) in entries { values[key] = try Value(entry, in: path) }
      return .map(values)
    }
  }

  private static func double(_ json: JSON, in path: String) throws(JSONError) -> Double {
    switch json {
    case .fraction(let text):
      if let number = Double(text), number.isFinite { return number }
    case .integer(let number): return Double(number)
    case .string("nan"): return .nan
    case .string("inf"): return .infinity
    case .string("-inf"): return -.infinity
    default: break
    }
    throw JSONError(in: path, #"a number, "nan", "inf" or "-inf" was expected"#)
  }

  private static func parsed<Parsed: LosslessStringConvertible>(
    _ json: JSON, _ what: String, in path: String
  ) throws(JSONError) -> Parsed {
    guard case .string(let text) = json, let value = Parsed(text) else {
      throw JSONError(in: path, "\(what) was expected")
    }
    return value
  }

  private static func reference(_ members: JSONMembers) throws(JSONError) -> Reference {
    var members = members
    let record = Name(try members.string("record"))
    let zone = try members.parsedIfPresent("zone", as: ZoneID.self, "a zone as name or owner/name")
    var rule = ReferenceRule.none
    if let text = try members.stringIfPresent("rule") {
      guard let found = ReferenceRule.allCases.first(where: { "\($0)" == text }) else {
        throw members.wrong("rule", "none, cascade or nullify")
      }
      rule = found
    }
    try members.finish()
    return Reference(zone: zone, record: record, rule: rule)
  }
}
