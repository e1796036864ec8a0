/// One remote's identity: 128 random bits, given when it was made. A folder that is empty, or another one mounted in
/// its place, has another identity or none. Text form: 32 lower-case hexadecimal digits.
public struct RemoteID: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible,
  Identifier128
{
  @usableFromInline var bits: Bits128

  /// The 128 bits; big-endian where they become bytes.
  @inlinable public var rawValue: UInt128 {
    get { bits.value }
    set { bits = Bits128(newValue) }
  }

  /// Creates an identifier from its 128 bits.
  @inlinable public init(rawValue: UInt128) { bits = Bits128(rawValue) }
}
