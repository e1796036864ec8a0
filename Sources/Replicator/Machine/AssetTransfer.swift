import EventStore

/// The result of moving an asset, or a part of it.
package struct AssetTransfer: Hashable, Sendable {
  enum End: Hashable, Sendable {
    /// The destination has all of it.
    case whole
    /// The next round continues it.
    case unfinished
    /// Another task or process moves it.
    case elsewhere
    /// The zone's log is closed.
    case gone
    /// It cannot be transferred.
    case problem(AssetProblem.Kind)
  }

  var end: End
  /// Bytes that moved.
  package var bytes: UInt64 = 0
  /// Chunks that moved.
  var chunks = 0
  /// Whether the destination had all of it before.
  package var wasThere = false

  init(_ end: End) { self.end = end }
}
