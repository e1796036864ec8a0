extension Value {
  /// Whether it may refer to an asset. For most values, the kind excludes that.
  @inlinable
  package var mayNameAssets: Bool {
    switch self {
    case .asset, .array, .map: true
    case .null, .bool, .int, .double, .decimal, .string, .bytes, .date, .uuid, .reference: false
    }
  }

  /// Appends the assets that it refers to, in order.
  ///
  /// - Complexity: linear in the value; the depth limit of encoded values bounds the recursion.
  package func appendAssets(to assets: inout [AssetReference]) {
    switch self {
    case .asset(let asset): assets.append(asset)
    case .array(let elements): for element in elements { element.appendAssets(to: &assets) }
    case .map(let entries):
      guard entries.values.contains(where: \.mayNameAssets) else { return }
      for (_, element) in entries.sorted(by: { $0.key < $1.key }) { element.appendAssets(to: &assets) }
    case .null, .bool, .int, .double, .decimal, .string, .bytes, .date, .uuid, .reference: break
    }
  }

  /// Appends the assets that an encoded value refers to, in order.
  package static func appendAssets(in bytes: RawSpan, to assets: inout [AssetReference]) throws(FormatError) {
    guard bytes.byteCount > ContentHash.byteCount, ValueTag.asset.mayBe(in: bytes) else { return }
    try Value(decoding: bytes).appendAssets(to: &assets)
  }
}
