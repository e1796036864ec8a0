import OperationFormat

/// Names a value that a generated operation sets: a number into a small table of encoded values.
package struct FoldValue: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// 0 is null, and 1 to 7 are small integers. From 8 on they are strings with encoded sizes around the limit
  /// above which a value gets its own row. The even ones are in arrays with references.
  package let rawValue: UInt8

  /// Creates the name of a value of the table.
  package init(rawValue: UInt8) {
    precondition(rawValue < Self.count, "there is no value \(rawValue)")
    self.rawValue = rawValue
  }

  /// The number of values in the table.
  package static let count: UInt8 = 14

  /// The value null.
  static let null = FoldValue(rawValue: 0)

  /// The least value that is larger than 1 KiB when it is encoded.
  static let firstLarge: UInt8 = 10

  /// The value itself.
  var value: Value { Self.values[Int(rawValue)] }

  /// The encoded value.
  var payload: [UInt8] { Self.payloads[Int(rawValue)] }

  /// “null”, an integer, or the encoded size of a string in bytes.
  package var description: String {
    switch rawValue {
    case 0: "null"
    case 1...7: "\(rawValue)"
    default: "“\(rawValue)…” (\(payload.count) bytes)"
    }
  }

  private static let values: [Value] = (0..<count).map { number in
    switch number {
    case 0: .null
    case 1...7: .int(Int64(number))
    case 8: array(number, encodedBytes: 1023, [Reference(record: "r1", rule: .cascade)])
    case 9: string(number, encodedBytes: 1024)
    case 10:
      array(
        number, encodedBytes: 1025,
        [Reference(record: "r0", rule: .nullify), Reference(record: "r2"), Reference(record: "r2")])
    case 11: string(number, encodedBytes: 1026)
    case 12:
      array(
        number, encodedBytes: 1500,
        [
          Reference(record: "r0", rule: .cascade), Reference(record: "r0", rule: .nullify),
          Reference(zone: ZoneID(name: "elsewhere"), record: "r1", rule: .cascade),
        ])
    default: string(number, encodedBytes: 1500)
    }
  }

  private static let payloads: [[UInt8]] = values.map(payload)

  private static func payload(of value: Value) -> [UInt8] {
    do {
      return try value.encoded()
    } catch {
      preconditionFailure("a value of the table cannot be encoded: \(error)")
    }
  }

  /// The element of a list by a number: two of five are references.
  static func element(_ number: Int) -> Value {
    switch number % 5 {
    case 3: .reference(Reference(record: Name("r\(number % 3)"), rule: .cascade))
    case 4: .reference(Reference(record: Name("r\(number % 3)"), rule: .nullify))
    default: .int(Int64(number))
    }
  }

  /// An array of references and a string that takes that many bytes.
  private static func array(_ number: UInt8, encodedBytes: Int, _ references: [Reference]) -> Value {
    let values = references.map { Value.reference($0) }
    let byteCount = values.reduce(2) { $0 + (payload(of: $1).count) }
    return .array(values + [string(number, encodedBytes: encodedBytes - byteCount)])
  }

  /// A string that takes that many bytes with its tag and its count of two bytes.
  private static func string(_ number: UInt8, encodedBytes: Int) -> Value {
    .string(String(repeating: String(UnicodeScalar(97 + number)), count: encodedBytes - 3))
  }
}
