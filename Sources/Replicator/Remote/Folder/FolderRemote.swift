public import EventStore

/// A remote in a folder: of a disk, a network share, or anything else that is mounted.
///
/// ```swift
/// // Once, on the first device; then on all.
/// let made = try await FolderRemote.create(directory: "/mnt/team/lists")
/// let remote = FolderRemote(directory: "/mnt/team/lists")
/// ```
///
/// <doc:FolderRemoteLayout> says what it expects of the file system.
public struct FolderRemote: RemoteLog, LogOfObjects {
  /// The algorithm, over the folder's files.
  package let log: ObjectRemote
  package let objects: FolderObjects

  /// A remote that exists. The folder is looked at in the first call, which a replicator makes in its first round: it
  /// need not be mounted yet.
  ///
  /// - Parameters:
  ///   - directory: the folder's path. Each call opens it again, so a mount may disappear and come back.
  ///   - isReadOnly: whether it never writes there, not even to complete a deletion of another.
  ///   - counter: counts the calls.
  public init(directory: String, isReadOnly: Bool = false, counter: RemoteCallCounter? = nil) {
    self.init(
      FolderObjects(directory: directory, makeRandom: SystemEnvironment.makeRandom), isReadOnly: isReadOnly,
      counter: counter)
  }

  /// Opens a remote that exists, and looks at it now.
  ///
  /// - Throws: ``RemoteError`` `notARemote`, `unreachable`, `newerFormat`, `damaged`, `denied`.
  public static func open(
    directory: String, isReadOnly: Bool = false, counter: RemoteCallCounter? = nil
  ) async throws(RemoteError) -> FolderRemote {
    try await FolderRemote(directory: directory, isReadOnly: isReadOnly, counter: counter).checked()
  }

  /// A remote with the caller's objects.
  ///
  /// - Parameter wallMilliseconds: the wall clock of this device, in milliseconds since 1970; nil to state no receive
  ///   times, where a run must not depend on the machine's clock.
  package init(
    _ objects: FolderObjects, isReadOnly: Bool = false, counter: RemoteCallCounter? = nil,
    wallMilliseconds: (@Sendable () -> Int64)? = SystemEnvironment.wallMilliseconds
  ) {
    self.objects = objects
    log = ObjectRemote(
      objects, counter: counter, isReadOnly: isReadOnly,
      clock: wallMilliseconds.map { .place(wallMilliseconds: $0) } ?? .none)
  }

  /// Makes a remote in a folder that is empty or does not exist, and opens it. If the folder is a remote
  /// already, it is opened as it is. If several make one at once, all get the same.
  ///
  /// Make a remote once, and open it from then on: if its disk is not mounted, an empty folder would become
  /// another remote. A store that was synced before refuses that one.
  ///
  /// - Throws: ``RemoteError`` as ``open(directory:isReadOnly:counter:)``; `notARemote` if the folder holds
  ///   other things; `unsuitable` if its file system cannot put files as a remote needs it; `overQuota`.
  public static func create(
    directory: String, makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) async throws(RemoteError) -> FolderRemote {
    let remote = FolderRemote(FolderObjects(directory: directory, makeRandom: makeRandom))
    return try await remote.make(makeRandom)
  }

  /// Makes the remote in its folder, unless it is one, and looks at it.
  package func make(_ makeRandom: @Sendable () -> UInt64) async throws(RemoteError) -> FolderRemote {
    try await objects.create(.random(makeRandom))
    return try await checked()
  }

  /// Looks at the remote now.
  package func checked() async throws(RemoteError) -> FolderRemote {
    try await log.zones.checked()
    return self
  }

  /// Puts two files under one name in the folder of temporary files, and removes them. Who may not write there, or has no
  /// room, reads without it.
  public func probe() async throws(RemoteError) {
    if log.zones.isReadOnly { return }
    try await log.zones.checked()
    do throws(RemoteError) {
      try await objects.probe()
    } catch {
      if error.code != .denied && error.code != .overQuota { throw error }
    }
  }

  /// Yields when a process of this machine has put something; ends at once if the system does not notify.
  public func changes() -> AsyncStream<RemoteHint> { log.objects.changes() }
}
