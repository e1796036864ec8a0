import OperationFormat

/// How the values of a type are stored.
struct ValueCodec<T: Sendable>: Sendable {
  /// What is stored for a value in a record of a zone.
  let encode: @Sendable (T, ZoneID) throws -> Value
  /// The value that is stored; nil if it does not decode.
  let decode: @Sendable (Value, ZoneID) -> T?
}

extension ValueCodec {
  /// The form in which a value is stored that may be written otherwise; nil if it does not decode.
  func stored(_ value: Value, in zone: ZoneID) throws -> Value? {
    try decode(value, zone).map { try encode($0, zone) }
  }
}

extension ValueCodec where T: FieldValue {
  static var ofFieldValue: Self {
    Self(encode: { try $0.value(in: $1) }, decode: { T($0, in: $1) })
  }
}

extension ValueCodec where T: Codable {
  static var ofCodable: Self { ofCodable(filledBy: nil) }

  /// - Parameter complete: a value whose members stand in for those that a stored one does not have.
  static func ofCodable(filledBy complete: T?) -> Self {
    Self(
      encode: { value, zone in try ValueEncoder.encode(value, in: zone) },
      decode: { value, zone in
        if let found = try? ValueDecoder.decode(T.self, from: value, in: zone) { return found }
        guard let complete, let all = try? ValueEncoder.encode(complete, in: zone),
          case .map = all, case .map = value
        else { return nil }
        return try? ValueDecoder.decode(T.self, from: value.filled(by: all), in: zone)
      })
  }
}

extension Value {
  /// A map with the entries that it does not have of another one, at all depths.
  fileprivate func filled(by complete: Value) -> Value {
    guard case .map(let entries) = self, case .map(let all) = complete else { return self }
    return .map(entries.merging(all) { $0.filled(by: $1) })
  }
}
