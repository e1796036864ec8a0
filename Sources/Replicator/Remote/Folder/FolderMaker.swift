internal import EventStore
internal import OperationFormat

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Makes a remote of a folder, and folders that a remote has lost.
struct FolderMaker {
  let tree: FolderTree
  let writer: FolderWriter

  private var calls: FolderCalls { tree.calls }
  private var directory: String { tree.directory }

  /// Makes a remote of a folder, and the folder if it does not exist. A folder that is a remote already stays
  /// as it is. Of several that make one at once, all end with the same remote.
  ///
  /// The marker comes last. So a folder that was left half made is no remote yet, and can be made again.
  func make(_ proposed: RemoteID) throws(RemoteError) {
    do throws(FileError) {
      try calls.makeDirectory(directory)
    } catch {
      if error.number != EEXIST { throw error.remoteError }
    }
    if try isMade() { return }
    try syncName()
    if let foreign = try foreignName() {
      // Another process may have made it since, and put things there.
      if try isMade() { return }
      throw RemoteError(
        .notARemote, "the folder “\(directory)” holds other things, such as `\(foreign)`",
        hint: "make the remote in an empty folder")
    }
    try makeFolders(FolderTree.topFolders)
    try writer.probe()
    _ = try writer.put(.marker, RemoteMarker(remote: proposed).bytes)
  }

  private func makeFolders(_ folders: [String]) throws(RemoteError) {
    let mode = try tree.mode()
    let root = try tree.openRoot()
    do throws(FileError) {
      for folder in folders {
        let path = "\(directory)/\(folder)"
        do throws(FileError) {
          try calls.makeDirectory(folder, in: root, path)
        } catch {
          if error.number != EEXIST { throw error }
        }
        try mode.give(to: try calls.openDirectory(folder, in: root, path), calls, path)
      }
      try calls.sync(root, directory)
    } catch {
      throw error.remoteError
    }
  }

  // MARK: Folders that were lost

  /// See ``FolderObjects/makeMissingFolders(of:)``.
  func makeMissingFolders(of remote: RemoteID) throws(RemoteError) -> [String] {
    let missing = try missingFolders()
    guard !missing.isEmpty else { return [] }
    guard let found = try tree.read(.marker, bytesMax: RemoteMarker.byteCount, allowsMore: false) else {
      throw .notARemote(tree.name)
    }
    let identity = try RemoteMarker.read(found.bytes, of: tree.name).remote
    guard identity == remote else { throw .identityMismatch(tree.name, remote, identity) }
    try makeFolders(missing)
    return missing
  }

  /// See ``FolderObjects/missingFolders()``.
  func missingFolders() throws(RemoteError) -> [String] {
    let root = try tree.openRoot()
    do throws(FileError) {
      let names = Set(try calls.names(in: root, directory))
      return FolderTree.topFolders.filter { $0 != FolderTree.temporary && !names.contains($0) }
    } catch {
      throw error.remoteError
    }
  }

  /// Whether the folder is a remote already.
  private func isMade() throws(RemoteError) -> Bool {
    try tree.read(.marker, bytesMax: RemoteMarker.byteCount, allowsMore: false) != nil
  }

  /// Makes the folder's own name durable: a power cut must not remove it with all that is synced in it. The
  /// process that made it may have been killed before.
  private func syncName() throws(RemoteError) {
    let root = try tree.openRoot()
    do throws(FileError) {
      let parent = try calls.openParent(of: root, directory)
      try calls.sync(parent, directory)
    } catch {
      // A user who may not read the folder above has not made this one.
      if error.number != EACCES && error.number != EPERM { throw error.remoteError }
    }
  }

  /// Whether a name right below the root is one that file systems and desktops put into every folder.
  static func isOfSystem(_ name: String) -> Bool { name.hasPrefix(".") || name == "lost+found" }

  /// Something in the folder that neither a new remote nor the system puts there.
  private func foreignName() throws(RemoteError) -> String? {
    let root = try tree.openRoot()
    do throws(FileError) {
      for name in try calls.names(in: root, directory) where !Self.isOfSystem(name) {
        guard FolderTree.topFolders.contains(name) else { return name }
        if name == FolderTree.temporary { continue }
        let folder = try calls.openDirectory(name, in: root, "\(directory)/\(name)")
        if let inner = try calls.names(in: folder, "\(directory)/\(name)").first { return "\(name)/\(inner)" }
      }
    } catch {
      throw error.remoteError
    }
    return nil
  }
}
