/// A value that names another record.
public struct Reference: Hashable, Sendable {
  /// The target's zone; nil for the zone of the record that holds the reference.
  public var zone: ZoneID?
  /// The target's name in its zone: 1 to 255 bytes.
  public var record: Name
  /// What happens to the reference and its holder if the target does not exist.
  public var rule: ReferenceRule

  /// Creates a reference. The encoder checks the lengths.
  public init(zone: ZoneID? = nil, record: Name, rule: ReferenceRule = .none) {
    self.zone = zone
    self.record = record
    self.rule = rule
  }
}

/// What happens to a reference, and to the record that holds it, if its target does not exist.
///
/// The rule applies only to a target in the holder's own zone. A reference to another zone always acts like
/// ``none``.
public enum ReferenceRule: UInt8, Hashable, Sendable, CaseIterable {
  /// Nothing: the reference stays, and following it finds no record.
  case none = 0
  /// The holder is hidden too, and so are the records that hold it by a cascade reference.
  case cascade = 1
  /// The reference reads as missing.
  case nullify = 2
}
