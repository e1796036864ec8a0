internal import EventStore
internal import OperationFormat
public import Replicator

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif
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
  private let lock: Int32
  private let index: LMDBIndex
  private let objects: FolderObjects

  /// For messages.
  public var name: String { index.name }

  /// Opens the data, and makes the directory and what is in it if there is none.
  ///
  /// - Throws: `RemoteError` `system`, `newerFormat`, `denied`, `notARemote`.
  public init(directory: String) async throws(RemoteError) {
    lock = try Self.lock(directory)
    let makeRandom = SystemEnvironment.makeRandom
    objects = FolderObjects(directory: "\(directory)/objects", makeRandom: makeRandom)
    try await objects.create(RemoteID(rawValue: Self.random(makeRandom)))
    index = try LMDBIndex(
      directory: "\(directory)/index",
      milliseconds: { UInt64(max(0, SystemEnvironment.wallMilliseconds())) }, makeRandom: makeRandom)
  }

  /// Makes the directory, and keeps other servers out of it.
  private static func lock(_ directory: String) throws(RemoteError) -> Int32 {
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
    let file = open("\(directory)/index/server.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw unusable("it may not write there", "give a directory that the server may write")
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      systemClose(file)
      throw unusable("another server uses it", "stop that, or give another directory")
    }
    return file
  }

  // Not in an asynchronous function: a UInt128 on the stack of one breaks its calls in Swift 6.3.
  private static func random(_ makeRandom: () -> UInt64) -> UInt128 {
    UInt128(makeRandom()) << 64 | UInt128(makeRandom())
  }

  /// The remote of an account.
  public func remote(of account: String) -> IndexedRemote { IndexedRemote(account, index, objects) }

  /// Closes it, once nothing is being written.
  public func close() {
    index.close()
    systemClose(lock)
  }
}

/// Closes a file. A method of the same name hides the system's.
private func systemClose(_ file: Int32) { _ = close(file) }
