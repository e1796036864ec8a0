internal import RemoteWire

/// A page of a list of objects.
struct S3Page: Sendable {
  struct Object: Sendable {
    var key: String
    var bytes: UInt64
  }

  var objects: [Object]
  /// With what the next page is asked for; nil if this is the last.
  var next: String?

  /// Nil if it is none.
  init?(_ body: [UInt8]) {
    guard let texts = S3Elements(body)?.texts, let isTruncated = texts["ListBucketResult/IsTruncated"] else {
      return nil
    }
    let isCoded = texts["ListBucketResult/EncodingType"] == ["url"]
    let keys = texts["ListBucketResult/Contents/Key"] ?? []
    let sizes = texts["ListBucketResult/Contents/Size"] ?? []
    guard keys.count == sizes.count else { return nil }
    objects = []
    for (key, size) in zip(keys, sizes) {
      let decoded = isCoded ? PercentCoding.decode(key.replacing("+", with: " ")) : key
      guard let decoded, let bytes = UInt64(size) else { return nil }
      objects.append(Object(key: decoded, bytes: bytes))
    }
    guard isTruncated == ["true"] else { return }
    next = texts["ListBucketResult/NextContinuationToken"]?.first
    if next == nil { return nil }
  }
}
