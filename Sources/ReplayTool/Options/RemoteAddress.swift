import EventStore
import HTTPRemote
import Replicator
import URLSessionTransport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The address of a remote, as the user gives it: `folder:DIR`, `http://HOST:PORT` or `https://HOST`.
///
/// A remote in memory has no address: it would be gone after the command, and the store on the disk would
/// still belong to it.
struct RemoteAddress: Hashable {
  enum Place: Hashable {
    case folder(String)
    case server(String)
  }

  let place: Place

  /// What the user may write.
  static let forms = "folder:DIRECTORY, http://HOST:PORT or https://HOST"
  /// Has the secret of a server. On the command line others of the machine could read it.
  private static let secretVariable = "TRIBUTARY_SECRET"

  /// Parses an address.
  ///
  /// - Throws: ``RemoteError`` `schemeUnknown`.
  init(_ text: String) throws(RemoteError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, ["http", "https"].contains(parts[0].lowercased()) {
      place = .server(text)
      return
    }
    guard parts.count == 2, parts[0] == "folder", !parts[1].isEmpty else {
      if text == "memory" {
        throw RemoteError(
          .schemeUnknown, "the remote “memory” ends with the command, and the store would still belong to it",
          hint: "write \(Self.forms); memory is for `replay history` and `replay scenario`")
      }
      throw RemoteError(
        .schemeUnknown, "“\(Display.plain(text))” is not the address of a known kind of remote",
        hint: text.isEmpty || text.contains(":")
          ? "write \(Self.forms)" : "did you mean folder:\(Display.plain(text))?")
    }
    place = .folder(String(parts[1]))
  }

  /// The directory of the remote, for what needs its files.
  ///
  /// - Throws: ``RemoteError`` `unsupported` if it is a server's.
  var directory: String {
    get throws(RemoteError) {
      switch place {
      case .folder(let directory): return directory
      case .server(let address):
        throw RemoteError(
          .unsupported, "a server shows no files, and this needs those of the remote: \(address)",
          hint:
            "if the server serves a folder (--gateway), run it on the server's machine, with folder:DIRECTORY"
        )
      }
    }
  }

  /// Opens the remote.
  ///
  /// - Parameter creates: whether to create it if it does not exist. A server's exists.
  /// - Throws: ``RemoteError`` as ``FolderRemote`` and ``HTTPRemote``.
  func open(creates: Bool, _ console: Console) async throws(RemoteError) -> any RemoteLog {
    switch place {
    case .folder(let directory):
      let objects = FolderObjects(
        directory: directory, milliseconds: console.folderMilliseconds,
        makeRandom: creates ? console.makeRandom : SystemEnvironment.makeRandom)
      let remote = FolderRemote(objects, wallMilliseconds: console.wallMilliseconds)
      return creates ? try await remote.make(console.makeRandom) : try await remote.checked()
    case .server(let address):
      let secret = ProcessInfo.processInfo.environment[Self.secretVariable]
      let device = String(SystemEnvironment.makeRandom(), radix: 16)
      let remote = try HTTPRemote(address, secret: secret, device: device, transport: URLSessionTransport())
      do throws(RemoteError) {
        try await remote.probe()
      } catch {
        guard error.code == .unauthenticated else { throw error }
        throw RemoteError(
          error.code,
          secret == nil
            ? "\(remote.name) wants a secret, and \(Self.secretVariable) is not set"
            : "\(remote.name) refuses the secret in \(Self.secretVariable)",
          hint:
            "set \(Self.secretVariable) in the environment to the secret with which the server was started")
      }
      return remote
    }
  }
}
