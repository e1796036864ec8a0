/// The identity of a device that signs segments: 128 random bits.
public struct DeviceID: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible,
  Identifier128
{
  private var bits: Bits128

  /// The 128 bits, which are encoded big-endian.
  public var rawValue: UInt128 { bits.value }

  /// Creates an identifier from its 128 bits.
  public init(rawValue: UInt128) { bits = Bits128(rawValue) }
}
