import EventStore
import Replicator

/// Where a remote is, as the user names it: `folder:DIR`.
///
/// A remote in memory has no address: a store on the disk would belong to one that is gone with the command.
struct RemoteAddress: Hashable {
  let directory: String

  /// Parses an address.
  ///
  /// - Throws: ``RemoteError`` `schemeUnknown`.
  init(_ text: String) throws(RemoteError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "folder", !parts[1].isEmpty else {
      if text == "memory" {
        throw RemoteError(
          .schemeUnknown, "“memory” ends with the command, and a store would belong to it all the same",
          hint: "write folder:DIRECTORY; memory is for `replay history` and `replay scenario`")
      }
      throw RemoteError(
        .schemeUnknown, "“\(Display.plain(text))” names no kind of remote that is known",
        hint: text.isEmpty || text.contains(":")
          ? "write folder:DIRECTORY" : "did you mean folder:\(Display.plain(text))?")
    }
    directory = String(parts[1])
  }

  /// Opens the remote.
  ///
  /// - Parameter creates: whether it is made if there is none.
  /// - Throws: ``RemoteError`` as ``FolderRemote``.
  func open(
    creates: Bool, makeRandom: @escaping @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  ) async throws(RemoteError) -> any RemoteLog {
    if creates { return try await FolderRemote.create(directory: directory, makeRandom: makeRandom) }
    return try await FolderRemote(directory: directory)
  }
}
