public import OperationFormat

/// Where a transaction lies in its zone's remote log.
public struct Placement: Hashable, Sendable {
  public let incarnation: IncarnationID
  public let offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  public let receivedMilliseconds: UInt64?
}
