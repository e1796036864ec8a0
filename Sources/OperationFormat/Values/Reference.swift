/// A value that names another record.
public struct Reference: Hashable, Sendable {
  /// The target's zone; nil for the zone of the record that holds the reference.
  public var zone: ZoneID?
  /// The target's name in its zone: 1 to 255 bytes.
  public var record: Name
  /// What becomes of it and its holder while the target is not there.
  public var rule: ReferenceRule

  /// Creates a reference. The lengths are checked where it is encoded.
  public init(zone: ZoneID? = nil, record: Name, rule: ReferenceRule = .none) {
    self.zone = zone
    self.record = record
    self.rule = rule
  }
}

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
