public import EventStore
public import OperationFormat

/// A place for the objects that a server keeps beside its logs: snapshots and assets. It is laid out as a remote, and no program
/// may use it as one.
public struct ObjectPlace: Sendable {
  /// For messages, such as `folder:/srv/objects`.
  public var name: String { objects.name }
  package let objects: any ObjectStore
  private let makes: @Sendable (RemoteID) async throws(RemoteError) -> Void

  /// - Parameter makes: makes the place with an identity, unless it is made.
  package init(
    _ objects: any ObjectStore, makes: @escaping @Sendable (RemoteID) async throws(RemoteError) -> Void
  ) {
    (self.objects, self.makes) = (objects, makes)
  }

  /// A folder. It is not looked at.
  public static func folder(
    _ directory: String, makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) -> ObjectPlace {
    let objects = FolderObjects(directory: directory, makeRandom: makeRandom)
    return ObjectPlace(objects) { (identity) throws(RemoteError) in try await objects.create(identity) }
  }

  /// Makes it, unless it is made.
  ///
  /// - Throws: ``RemoteError`` `notARemote` if other things are there, `unreachable`, `unsuitable`, `denied`, `overQuota`.
  public func make(_ identity: RemoteID) async throws(RemoteError) { try await makes(identity) }

  /// Which place it is: the number with which it was made.
  ///
  /// - Throws: ``RemoteError`` `notARemote` if it is not made, `unreachable`, `damaged`, `denied`.
  public func identity() async throws(RemoteError) -> RemoteID {
    guard let marker = try await objects.getPrefix(.marker, RemoteMarker.byteCount + 1) else {
      throw .notARemote(name)
    }
    return try RemoteMarker.read(marker.bytes, of: name).remote
  }
}
