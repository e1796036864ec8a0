import OperationFormat

/// An asset as one zone's log names it.
struct AssetName: Hashable, Comparable {
  var asset: AssetReference
  var zone: ZoneNumber

  static func < (left: Self, right: Self) -> Bool {
    if left.zone != right.zone { return left.zone < right.zone }
    if left.asset.hash != right.asset.hash {
      return left.asset.hash.bytes.lexicographicallyPrecedes(right.asset.hash.bytes)
    }
    return left.asset.byteCount < right.asset.byteCount
  }
}
