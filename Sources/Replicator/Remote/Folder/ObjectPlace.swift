public import EventStore
public import OperationFormat

/// A place for the objects that a server keeps beside its logs: snapshots and assets. It is laid out as a remote, and no program
/// may use it as one.
public struct ObjectPlace: Sendable {
  /// For messages, such as `folder:/srv/objects`.
  public var name: String { objects.name }
  package let objects: any ObjectStore
  private let makes: @Sendable () async throws(RemoteError) -> Void

  /// - Parameter makes: makes the place, unless it is made.
  package init(
    _ objects: any ObjectStore, makes: @escaping @Sendable () async throws(RemoteError) -> Void
  ) {
    (self.objects, self.makes) = (objects, makes)
  }

  /// A folder. It is not looked at.
  public static func folder(
    _ directory: String, makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) -> ObjectPlace {
    let objects = FolderObjects(directory: directory, makeRandom: makeRandom)
    return ObjectPlace(objects) { () throws(RemoteError) in try await objects.create(.random(makeRandom)) }
  }

  /// Makes it, unless it is made.
  ///
  /// - Throws: ``RemoteError`` `notARemote` if other things are there, `unreachable`, `unsuitable`, `denied`, `overQuota`.
  public func make() async throws(RemoteError) { try await makes() }

  /// Which place it is: a random number that is stored in it.
  ///
  /// - Throws: ``RemoteError`` `notARemote` if it is not made, `unreachable`, `damaged`, `denied`.
  public func identity() async throws(RemoteError) -> RemoteID {
    guard let marker = try await objects.getPrefix(.marker, RemoteMarker.byteCount + 1) else {
      throw .notARemote(name)
    }
    return try RemoteMarker.read(marker.bytes, of: name).remote
  }
}
