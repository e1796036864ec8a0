public import OperationFormat

/// With its hash as text, for what is not a store.
extension AssetReference: Codable {
  private enum CodingKeys: CodingKey {
    case hash
    case byteCount
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let hash = ContentHash(try container.decode(String.self, forKey: .hash)) else {
      throw DecodingError.dataCorruptedError(
        forKey: .hash, in: container, debugDescription: "it is no SHA-256 in hexadecimal digits")
    }
    self.init(hash: hash, byteCount: try container.decode(UInt64.self, forKey: .byteCount))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode("\(hash)", forKey: .hash)
    try container.encode(byteCount, forKey: .byteCount)
  }
}
