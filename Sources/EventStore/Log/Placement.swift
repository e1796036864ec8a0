public import OperationFormat

/// The place of a transaction in its zone's remote log.
public struct Placement: Hashable, Sendable {
  public let incarnation: IncarnationID
  public let offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil if the remote does not keep such
  /// times.
  public let receivedMilliseconds: UInt64?
}
