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
        var value = value
        // Each round fills one member in.
        for _ in 0..<membersMax {
          do {
            return try ValueDecoder.decode(T.self, from: value, in: zone)
          } catch DecodingError.keyNotFound(let key, let context) {
            let path = (context.codingPath + [key]).map { Name($0.stringValue) }
            guard let complete, let all = try? ValueEncoder.encode(complete, in: zone),
              let filled = value.filled(at: path[...], by: all)
            else { return nil }
            value = filled
          } catch {
            return nil
          }
        }
        return nil
      })
  }

  /// How many members of a value a default may stand in for.
  private static var membersMax: Int { 64 }
}

extension Value {
  /// A map with what another one has at a path; nil if that has nothing, or this is no map.
  fileprivate func filled(at path: ArraySlice<Name>, by complete: Value) -> Value? {
    guard case .map(var entries) = self, case .map(let all) = complete, let key = path.first,
      let other = all[key]
    else { return nil }
    if path.count == 1 {
      entries[key] = other
    } else {
      guard let inner = entries[key]?.filled(at: path.dropFirst(), by: other) else { return nil }
      entries[key] = inner
    }
    return .map(entries)
  }
}
