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
  private let index: LMDBIndex
  private let objects: FolderObjects

  /// For messages.
  public var name: String { index.name }

  /// Opens the data, and makes the directory and what is in it if there is none.
  ///
  /// - Throws: `RemoteError` `system`, `newerFormat`, `denied`, `notARemote`.
  public init(directory: String) async throws(RemoteError) {
    do {
      try FileManager.default.createDirectory(atPath: "\(directory)/index", withIntermediateDirectories: true)
    } catch {
      throw RemoteError(
        .system, "the directory \(directory) cannot be made: \(error)",
        hint: "give the server a directory that it may write", underlying: error)
    }
    let makeRandom = SystemEnvironment.makeRandom
    objects = FolderObjects(directory: "\(directory)/objects", makeRandom: makeRandom)
    try await objects.create(RemoteID(rawValue: Self.random(makeRandom)))
    index = try LMDBIndex(
      directory: "\(directory)/index",
      milliseconds: { UInt64(max(0, SystemEnvironment.wallMilliseconds())) }, makeRandom: makeRandom)
  }

  // Not in an asynchronous function: a UInt128 on the stack of one breaks its calls in Swift 6.3.
  private static func random(_ makeRandom: () -> UInt64) -> UInt128 {
    UInt128(makeRandom()) << 64 | UInt128(makeRandom())
  }

  /// The remote of an account.
  public func remote(of account: String) -> IndexedRemote { IndexedRemote(account, index, objects) }

  /// Closes it, once nothing is being written.
  public func close() { index.close() }
}
