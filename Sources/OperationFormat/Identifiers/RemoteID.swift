/// The identity of a remote as one account sees it: 128 random bits, chosen when it was made. Text form: 32
/// lower-case hexadecimal digits.
///
/// It names a list of zones, and so both a service and an account there: each account of a service has a list
/// of its own, with its own zones and those that others share with it, and so an identity of its own. A store
/// that is signed in to another account finds another remote. A folder has one list for all who use it: it is
/// one account. If a folder is empty, or another one is mounted in its place, it has no identity or another
/// one.
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
