/// A place in a remote's list of zones: up to where a store has read it. Opaque to apps.
public struct DatabaseToken: Hashable, Sendable {
  /// Whose list it is.
  public var remote: RemoteID
  /// The offset of the last event that was read; 0 before the first.
  public var offset: UInt64
  /// The hash of the event at ``offset``; ``ContentHash/zero`` where that is 0.
  public var hash: ContentHash

  public init(remote: RemoteID, offset: UInt64, hash: ContentHash) {
    self.remote = remote
    self.offset = offset
    self.hash = hash
  }

  /// Before the first event of a remote.
  public static func start(of remote: RemoteID) -> DatabaseToken {
    DatabaseToken(remote: remote, offset: 0, hash: .zero)
  }
}
