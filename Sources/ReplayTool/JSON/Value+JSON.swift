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

  /// A value of this kind.
  func json(_ content: JSON) -> JSON { .object([Name(rawValue): content]) }
}

extension Value {
  var json: JSON {
    switch self {
    case .null: .null
    case .bool(let isTrue): .bool(isTrue)
    case .int(let number): .number(number)
    case .string(let text): .string(text)
    case .double(let number): ValueWord.double.json(number.json)
    case .decimal(let number): ValueWord.decimal.json(.text(number))
    case .bytes(let bytes): ValueWord.bytes.json(.string(Data(bytes).base64EncodedString()))
    case .date(let microseconds):
      ValueWord.date.json(.string(CalendarTime.text(microseconds: microseconds)))
    case .uuid(let id): ValueWord.uuid.json(.text(id))
    case .reference(let reference): ValueWord.reference.json(reference.json)
    case .asset(let asset):
      ValueWord.asset.json(.object(["bytes": .number(asset.byteCount), "sha256": .text(asset.hash)]))
    case .array(let elements): ValueWord.array.json(.array(elements.map(\.json)))
    case .map(let entries): ValueWord.map.json(.object(entries.mapValues(\.json)))
    }
  }
}

extension Double {
  /// The shortest text that gives the same number again; a quoted text for numbers that JSON does not have.
  fileprivate var json: JSON {
    if isNaN { return .string("nan") }
    if isInfinite { return .string(self < 0 ? "-inf" : "inf") }
    return .fraction("\(self)")
  }
}

extension Reference {
  fileprivate var json: JSON {
    .members([
      "record": .text(record), "zone": zone.map { .text($0) },
      "rule": rule == .none ? nil : .string("\(rule)"),
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
      let (what, shown) =
        text.utf8.count <= 40
        ? ("a number with a fraction", text) : ("a number of \(text.utf8.count) bytes", "…")
      throw JSONError(
        in: path, #"\#(what) must be written as {"double":\#(shown)} or {"decimal":"\#(shown)"}"#)
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
      let hash = try members.hash("sha256")
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
    let zone = try members.isMissing("zone") ? nil : members.zone("zone")
    let rule: ReferenceRule =
      try members.isMissing("rule") ? .none : members.word("rule", "none, cascade or nullify")
    try members.finish()
    return Reference(zone: zone, record: record, rule: rule)
  }
}
