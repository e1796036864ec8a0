internal import EventStore
internal import OperationFormat

/// Objects as files of a folder that several machines may share.
///
/// An object appears by `link` of a file that was written and synced under another name. So it is whole,
/// exactly one writer succeeds, and a crash leaves at most a file in `tmp`: nobody reads it, and the first
/// put of another process removes it after a day.
///
/// Calls of the file system may block for any time. They run on the remote's own threads: a share that does
/// not answer blocks none of the thread pool, and a cancelled task does not wait for it.
package final class FolderObjects: ObjectStore {
  /// The most calls that run at once. A share that hangs may block all of them; later calls then wait.
  static let threadsMax = 8

  let threads: BlockingThreads
  private let tree: FolderTree
  private let writer: FolderWriter
  /// Hints about what this process puts.
  private let feed = HintFeed()

  init(
    directory: String, calls: FolderCalls, threadsMax: Int = FolderObjects.threadsMax,
    readsWithoutFolders: Bool = false, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    threads = BlockingThreads(countMax: threadsMax)
    tree = FolderTree(directory, calls, readsWithoutFolders: readsWithoutFolders)
    writer = FolderWriter(tree, makeRandom: makeRandom)
  }

  /// Objects in a folder with the caller's source of random bits.
  ///
  /// - Parameters:
  ///   - blocksCallers: whether calls block the thread of their task, for a simulator.
  ///   - readsWithoutFolders: whether a missing folder below the root reads as an empty one, if the marker
  ///     exists. Only for a caller that reports those folders: for all others they are lost, and nothing may
  ///     look deleted.
  ///   - milliseconds: the file system's clock in a simulation, in milliseconds since 1970; nil for its own.
  package convenience init(
    directory: String, blocksCallers: Bool = false, readsWithoutFolders: Bool = false,
    milliseconds: (@Sendable () -> UInt64)? = nil, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    self.init(
      directory: directory, calls: FolderCalls(milliseconds: milliseconds),
      threadsMax: blocksCallers ? 0 : Self.threadsMax,
      readsWithoutFolders: readsWithoutFolders, makeRandom: makeRandom)
  }

  var directory: String { tree.directory }
  package var name: String { tree.name }

  package func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try await onThread { [self] () throws(RemoteError) in
      try tree.read(name, bytesMax: bytesMax, allowsMore: false)?.bytes
    }
  }

  package func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    try await onThread { [self] () throws(RemoteError) in
      try tree.read(name, bytesMax: count, allowsMore: true)
    }
  }

  package func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    let isPut = try await onThread { [self] () throws(RemoteError) in try writer.put(name, bytes) }
    if isPut { feed.tell(put: name) }
    return isPut
  }

  package func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    let put = try await onThread { [self] () throws(RemoteError) in try writer.put(name, timed: bytes) }
    if case .put = put { feed.tell(put: name) }
    return put
  }

  package func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try writer.overwrite(name, bytes) }
    feed.tell(put: name)
  }

  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try writer.makeLasting(name) }
  }

  package func delete(_ name: ObjectName) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try tree.remove(name) }
  }

  package func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    try await onThread { [self] () throws(RemoteError) in try FolderLister(tree: tree).nextEntry(after: name)
    }
  }

  package func list() async throws(RemoteError) -> [ObjectEntry] {
    try await onThread { [self] () throws(RemoteError) in try FolderLister(tree: tree).entries() }
  }

  package func changes() -> AsyncStream<RemoteHint> {
    feed.listen { [writer, threads] in
      FolderWatch.begin(writer.temporariesPath, $0, threads) { writer.isOwn($0) }
    }
  }

  // MARK: What only a folder does

  /// Makes a remote of a folder: see ``FolderMaker/make(_:)``.
  package func create(_ proposed: RemoteID) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try maker.make(proposed) }
  }

  /// Checks what the file system does: see ``FolderWriter/probe()``.
  func probe() async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try writer.probe() }
  }

  /// The folders of a remote that are missing, in order. The folder of temporary files does not count: a
  /// writer makes it.
  package func missingFolders() async throws(RemoteError) -> [String] {
    try await onThread { [self] () throws(RemoteError) in try maker.missingFolders() }
  }

  /// Makes the folders that a remote has lost, as empty ones. Only for a repair, which then puts back what
  /// was in them.
  ///
  /// - Parameter remote: the identity that it must have.
  /// - Returns: those that were made.
  /// - Throws: ``RemoteError`` `notARemote`, `damaged`, `identityMismatch` unless the marker exists and names
  ///   that remote: then nothing is made.
  package func makeMissingFolders(of remote: RemoteID) async throws(RemoteError) -> [String] {
    try await onThread { [self] () throws(RemoteError) in try maker.makeMissingFolders(of: remote) }
  }

  /// Removes the assets of a closed log: see ``FolderAssetRemoval``.
  package func removeAssets(of incarnation: IncarnationID) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in
      try FolderAssetRemoval(tree: tree).removeAssets(of: incarnation)
    }
  }

  private var maker: FolderMaker { FolderMaker(tree: tree, writer: writer) }

  /// Runs calls of the file system on one of the remote's threads.
  private func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws(RemoteError) -> Result
  ) async throws(RemoteError) -> Result {
    do {
      return try await threads.run(.leaves) { _ in try body() }
    } catch let error as RemoteError {
      throw error
    } catch is CancellationError {
      throw .cancelled(name)
    } catch {
      throw RemoteError(
        .later, "\(error)", hint: "the machine lacks a resource for the moment; try again", underlying: error)
    }
  }
}
