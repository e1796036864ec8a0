public import EventStore

/// A place for the objects that a server keeps beside its logs: snapshots and assets. It is laid out as a remote, and no program
/// may use it as one.
public struct ObjectPlace: Sendable {
  /// For messages, such as `folder:/srv/objects`.
  public var name: String { objects.name }
  package let objects: any ObjectStore

  package init(_ objects: any ObjectStore) { self.objects = objects }

  /// A folder, which is made if there is none.
  ///
  /// - Throws: ``RemoteError`` as ``FolderRemote/create(directory:makeRandom:)``.
  public static func folder(
    _ directory: String, makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) async throws(RemoteError) -> ObjectPlace {
    let objects = FolderObjects(directory: directory, makeRandom: makeRandom)
    try await objects.create(.random(makeRandom))
    return ObjectPlace(objects)
  }
}
