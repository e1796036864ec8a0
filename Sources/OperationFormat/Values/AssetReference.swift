/// A value that refers to bytes outside the log, by their hash.
public struct AssetReference: Hashable, Sendable {
  /// The SHA-256 of the bytes.
  public var hash: ContentHash
  /// How many bytes there are.
  public var byteCount: UInt64

  /// Creates a reference to `byteCount` bytes with this hash.
  public init(hash: ContentHash, byteCount: UInt64) {
    self.hash = hash
    self.byteCount = byteCount
  }
}
