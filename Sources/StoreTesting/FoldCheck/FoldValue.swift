package import OperationFormat

/// Names a value that a generated operation sets: a number into a small table of encoded values.
public struct FoldValue: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// 0 is null, 1 to 7 are small integers; from 8 on come strings whose encoded forms lie around the size from
  /// which a value is kept apart.
  public let rawValue: UInt8

  /// Creates the name of a value of the table.
  public init(rawValue: UInt8) {
    precondition(rawValue < Self.count, "there is no value \(rawValue)")
    self.rawValue = rawValue
  }

  /// The number of values in the table.
  public static let count: UInt8 = 14

  /// The value null.
  public static let null = FoldValue(rawValue: 0)

  /// The least value that is larger than 1 KiB when it is encoded.
  static let firstLarge: UInt8 = 10

  /// The value itself.
  package var value: Value { Self.values[Int(rawValue)] }

  /// The encoded value.
  var payload: [UInt8] { Self.payloads[Int(rawValue)] }

  /// “null”, an integer, or the encoded size of a string in bytes.
  public var description: String {
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
    case 8: string(number, encodedBytes: 1023)
    case 9: string(number, encodedBytes: 1024)
    case 10: string(number, encodedBytes: 1025)
    case 11: string(number, encodedBytes: 1026)
    default: string(number, encodedBytes: 1500)
    }
  }

  private static let payloads: [[UInt8]] = values.map { value in
    do {
      return try value.encoded()
    } catch {
      preconditionFailure("a value of the table cannot be encoded: \(error)")
    }
  }

  /// A string that takes that many bytes with its tag and its count of two bytes.
  private static func string(_ number: UInt8, encodedBytes: Int) -> Value {
    .string(String(repeating: String(UnicodeScalar(97 + number)), count: encodedBytes - 3))
  }
}
