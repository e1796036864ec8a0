import EventStore
import Replicator

/// The address of a remote, as the user gives it: `folder:DIR`.
///
/// A remote in memory has no address: it would be gone after the command, and the store on the disk would
/// still belong to it.
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
          .schemeUnknown, "the remote “memory” ends with the command, and the store would still belong to it",
          hint: "write folder:DIRECTORY; memory is for `replay history` and `replay scenario`")
      }
      throw RemoteError(
        .schemeUnknown, "“\(Display.plain(text))” is not the address of a known kind of remote",
        hint: text.isEmpty || text.contains(":")
          ? "write folder:DIRECTORY" : "did you mean folder:\(Display.plain(text))?")
    }
    directory = String(parts[1])
  }

  /// Opens the remote.
  ///
  /// - Parameter creates: whether to create it if it does not exist.
  /// - Throws: ``RemoteError`` as ``FolderRemote``.
  func open(creates: Bool, _ console: Console) async throws(RemoteError) -> any RemoteLog {
    let objects = FolderObjects(
      directory: directory, milliseconds: console.folderMilliseconds,
      makeRandom: creates ? console.makeRandom : SystemEnvironment.makeRandom)
    let remote = FolderRemote(objects, wallMilliseconds: console.wallMilliseconds)
    return creates ? try await remote.make(console.makeRandom) : try await remote.checked()
  }
}
