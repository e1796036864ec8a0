import EventStore
import HTTPRemote
import Replicator
import S3Remote
import URLSessionTransport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The address of a remote, as the user gives it: `folder:DIR`, `s3://BUCKET/PREFIX`, `http://HOST:PORT` or `https://HOST`.
///
/// A remote in memory has no address: it would be gone after the command, and the store on the disk would
/// still belong to it.
struct RemoteAddress: Hashable {
  enum Place: Hashable {
    case folder(String)
    case bucket(S3Address)
    case server(String)
  }

  let place: Place
  var isFolder: Bool { if case .folder = place { true } else { false } }

  /// What the user may write.
  static let forms = "folder:DIRECTORY, s3://BUCKET/PREFIX, http://HOST:PORT or https://HOST"
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
    if parts.count == 2, parts[0].lowercased() == "s3" {
      place = .bucket(try S3Address(text, environment: ProcessInfo.processInfo.environment))
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

  /// The remote, for what needs its objects. It is not looked at.
  ///
  /// - Parameter readsWithoutFolders: whether a folder is read too that has lost some of its folders.
  /// - Throws: ``RemoteError`` `unsupported` if it is a server's.
  func withObjects(
    isReadOnly: Bool, readsWithoutFolders: Bool = false, _ console: Console
  ) throws(RemoteError) -> any LogOfObjects {
    switch place {
    case .folder(let directory):
      let objects = FolderObjects(
        directory: directory, readsWithoutFolders: readsWithoutFolders, makeRandom: console.makeRandom)
      return FolderRemote(objects, isReadOnly: isReadOnly)
    case .bucket(let address):
      return S3Remote(
        address, isReadOnly: isReadOnly, transport: URLSessionTransport(),
        wallMilliseconds: console.wallMilliseconds)
    case .server(let address):
      throw RemoteError(
        .unsupported, "a server shows no files, and this needs those of the remote: \(address)",
        hint:
          "if the server serves a folder (--gateway), run it on the server's machine, with folder:DIRECTORY")
    }
  }

  /// Opens the remote.
  ///
  /// - Parameter creates: whether to create it if it does not exist. A server's exists.
  /// - Throws: ``RemoteError`` as ``FolderRemote``, `S3Remote` and ``HTTPRemote``.
  func open(creates: Bool, _ console: Console) async throws(RemoteError) -> any RemoteLog {
    switch place {
    case .folder(let directory):
      let objects = FolderObjects(
        directory: directory, milliseconds: console.folderMilliseconds,
        makeRandom: creates ? console.makeRandom : SystemEnvironment.makeRandom)
      let remote = FolderRemote(objects, wallMilliseconds: console.wallMilliseconds)
      return creates ? try await remote.make(console.makeRandom) : try await remote.checked()
    case .bucket(let address):
      let remote = S3Remote(
        address, transport: URLSessionTransport(), wallMilliseconds: console.wallMilliseconds)
      return creates ? try await remote.made() : try await remote.checked()
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
