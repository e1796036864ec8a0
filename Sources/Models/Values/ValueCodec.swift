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
  static var ofCodable: Self {
    Self(
      encode: { value, zone in try ValueEncoder.encode(value, in: zone) },
      decode: { value, zone in try? ValueDecoder.decode(T.self, from: value, in: zone) })
  }
}
