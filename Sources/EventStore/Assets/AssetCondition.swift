/// How an asset's file is.
public enum AssetCondition: Hashable, Sendable {
  /// It has the bytes that its hash says.
  case whole
  /// There is none.
  case missing
  /// It has other bytes, or cannot be read.
  case damaged
}
