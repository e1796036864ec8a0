import EventStore
import Replicator

/// Where a remote is, as the user names it: `folder:DIR`, or `memory` for one that ends with the command.
struct RemoteAddress: Hashable {
  enum Kind: Hashable {
    case folder(String)
    case memory
  }

  var kind: Kind

  /// Parses an address.
  ///
  /// - Throws: ``RemoteError`` `schemeUnknown`.
  init(_ text: String) throws(RemoteError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    switch (parts[0], parts.count) {
    case ("folder", 2) where !parts[1].isEmpty: kind = .folder(String(parts[1]))
    case ("memory", 1): kind = .memory
    default:
      throw RemoteError(
        .schemeUnknown, "“\(Display.plain(text))” names no kind of remote that is known",
        hint: text.isEmpty || text.contains(":")
          ? "write folder:DIRECTORY, or memory for a remote that ends with the command"
          : "did you mean folder:\(Display.plain(text))?")
    }
  }

  /// Opens the remote.
  ///
  /// - Parameter creates: whether it is made if there is none.
  /// - Throws: ``RemoteError`` as ``FolderRemote``.
  func open(
    creates: Bool, makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) async throws(RemoteError) -> any RemoteLog {
    switch kind {
    case .folder(let directory):
      if creates { return try await FolderRemote.create(directory: directory, makeRandom: makeRandom) }
      return try await FolderRemote(directory: directory)
    case .memory:
      return MemoryRemote(identity: RemoteID(rawValue: UInt128(makeRandom()) << 64 | UInt128(makeRandom())))
    }
  }
}
