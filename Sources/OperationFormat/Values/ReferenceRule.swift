/// What becomes of a reference, and of the record that holds it, while its target is not there.
///
/// Only a target in the holder's own zone counts; one in another zone may be there or not, as with ``none``.
public enum ReferenceRule: UInt8, Hashable, Sendable, CaseIterable {
  /// Nothing: the reference stays, and whoever follows it finds no record.
  case none = 0
  /// The holder is hidden too, and what holds it by a cascade.
  case cascade = 1
  /// The reference reads as missing.
  case nullify = 2
}
