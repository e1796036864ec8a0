internal import EventStore
internal import OperationFormat
public import Replicator

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The data of a server by itself, in a directory: an index, and a folder with the snapshots and assets.
///
/// ```
/// DIR/index     the logs and the lists of zones: LMDB
/// DIR/objects   snapshots and assets, laid out as a folder remote
/// ```
///
/// One server uses it at one time.
public final class ServerData: Sendable {
  private let lock: DirectoryLock
  private let index: LMDBIndex
  private let objects: ObjectPlace

  /// For messages.
  public var name: String { index.name }

  /// Opens the data, and makes the directory and what is in it if there is none.
  ///
  /// - Throws: `RemoteError` `system`, `newerFormat`, `denied`, `notARemote`; `identityMismatch` if the index or the objects
  ///   were lost or replaced.
  public init(directory: String) async throws(RemoteError) {
    lock = try Self.lock(directory)
    let makeRandom = SystemEnvironment.makeRandom
    index = try LMDBIndex(
      directory: "\(directory)/index",
      milliseconds: { UInt64(max(0, SystemEnvironment.wallMilliseconds())) }, makeRandom: makeRandom)
    objects = .folder("\(directory)/objects", makeRandom: makeRandom)
    try await index.bind(objects)
  }

  /// Makes the directory, and keeps other servers out of it.
  private static func lock(_ directory: String) throws(RemoteError) -> DirectoryLock {
    func unusable(_ why: String, _ hint: String, _ error: (any Error)? = nil) -> RemoteError {
      RemoteError(
        .system, "the server cannot keep its data in \(directory): \(why)", hint: hint, underlying: error)
    }
    let elsewhere = "give an empty directory, or that of a server"
    let files = FileManager.default
    if let found = try? files.contentsOfDirectory(atPath: directory), !found.isEmpty, !found.contains("index")
    {
      throw unusable(
        found.contains("remote")
          ? "it is a remote in a folder" : "it holds other things, such as `\(found.sorted()[0])`",
        found.contains("remote") ? "serve it with --gateway folder:DIRECTORY, or \(elsewhere)" : elsewhere)
    }
    do {
      try files.createDirectory(atPath: "\(directory)/index", withIntermediateDirectories: true)
    } catch {
      throw unusable("\(error)", "give a directory that the server may write", error)
    }
    guard let lock = DirectoryLock(ifFree: "\(directory)/index") else {
      throw unusable("another server uses it", "stop that, or give another directory")
    }
    return lock
  }

  /// The remote of an account.
  public func remote(of account: String) -> IndexedRemote { IndexedRemote(account, index, in: objects) }

  /// Closes it, once nothing is being written.
  public func close() { index.close() }
}
