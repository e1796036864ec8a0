/// One life of a zone's remote log: 128 random bits. Text form: 32 lower-case hexadecimal digits.
public struct IncarnationID: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible,
  Identifier128
{
  /// The 128 bits; big-endian where they become bytes.
  public var rawValue: UInt128

  /// Creates an identifier from its 128 bits.
  public init(rawValue: UInt128) { self.rawValue = rawValue }
}
