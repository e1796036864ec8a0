/// What becomes of a reference's holder while the target is not alive.
public enum ReferenceRule: UInt8, Hashable, Sendable, CaseIterable {
  /// Nothing: the reference reads as missing.
  case none = 0
  /// The holder is hidden too.
  case cascade = 1
  /// The reference reads as null.
  case nullify = 2
}
