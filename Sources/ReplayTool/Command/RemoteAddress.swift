import Replicator

/// A remote as the user names it on the command line.
enum RemoteAddress: Equatable {
  /// A folder of that path.
  case folder(String)
  /// One in memory, which ends with the command.
  case memory

  /// - Throws: ``ToolError`` `schemeUnknown`.
  init(_ text: String) throws {
    let scheme = text.prefix { $0 != ":" }
    let rest = text.dropFirst(scheme.count + 1)
    switch scheme {
    case "folder" where !rest.isEmpty: self = .folder(String(rest))
    case "memory" where text == "memory": self = .memory
    default:
      throw ToolError.input(
        RemoteError.Code.schemeUnknown.rawValue, "“\(Display.plain(text))” names no kind of remote that is known",
        hint: "write folder:DIR; tests may take memory")
    }
  }

  /// Opens the remote.
  ///
  /// - Parameter creates: whether to make it in a folder that is empty or not there.
  /// - Throws: ``RemoteError``.
  func open(creates: Bool, _ console: Console) async throws -> any RemoteLog {
    switch self {
    case .folder(let directory) where creates:
      try await FolderRemote.create(directory: directory, makeRandom: console.makeRandom)
    case .folder(let directory): try await FolderRemote(directory: directory)
    case .memory:
      MemoryRemote(
        identity: RemoteID(rawValue: UInt128(console.makeRandom()) << 64 | UInt128(console.makeRandom())))
    }
  }
}
