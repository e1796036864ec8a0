/// One life of a zone's remote log: 128 random bits. Text form: 32 lower-case hexadecimal digits.
public struct IncarnationID: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible,
  Identifier128
{
  @usableFromInline var bits: Bits128

  /// The 128 bits, which are encoded big-endian.
  @inlinable public var rawValue: UInt128 {
    get { bits.value }
    set { bits = Bits128(newValue) }
  }

  /// Creates an identifier from its 128 bits.
  @inlinable public init(rawValue: UInt128) { bits = Bits128(rawValue) }
}
