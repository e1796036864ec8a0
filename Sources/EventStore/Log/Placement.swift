public import OperationFormat

/// The place of a transaction in its zone's remote log.
public struct Placement: Hashable, Sendable {
  /// The incarnation of the remote log.
  public let incarnation: IncarnationID
  /// The offset of its segment there, from 1.
  public let offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil if the remote does not keep such
  /// times.
  public let receivedMilliseconds: UInt64?
}
