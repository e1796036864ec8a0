/// The identity of a remote: 128 random bits, chosen when it was made. If a folder is empty, or another
/// folder is mounted in its place, it has no identity or another one. Text form: 32 lower-case hexadecimal
/// digits.
public struct RemoteID: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible,
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
