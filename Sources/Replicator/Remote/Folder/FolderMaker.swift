internal import OperationFormat

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension FolderObjects {
  /// Makes a remote of a folder, which is made too if it is not there. A success if it is a remote already: it stays
  /// as it is. Of several that do so at once, all end with the same remote.
  ///
  /// The marker comes last, so a folder that was left half made is none yet, and can be made again.
  package func create(_ proposed: RemoteID) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try make(proposed) }
  }

  private func make(_ proposed: RemoteID) throws(RemoteError) {
    do throws(FileError) {
      try calls.makeDirectory(directory)
    } catch {
      if error.number != EEXIST { throw error.remoteError }
    }
    if try isMade() { return }
    try syncName()
    if let foreign = try foreignName() {
      // Another process may have made it meanwhile, and put things there.
      if try isMade() { return }
      throw RemoteError(
        .notARemote, "\(directory) holds other things, such as `\(foreign)`",
        hint: "make the remote in an empty folder")
    }
    try makeFolders(Self.topFolders)
    _ = try put(.marker, RemoteMarker(remote: proposed).bytes)
  }

  private func makeFolders(_ folders: [String]) throws(RemoteError) {
    let mode = try mode()
    let root = try openRoot()
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

  /// The folders of a remote that are not there any more, in order. One of temporary files is made by the writer that puts something.
  package func missingFolders() async throws(RemoteError) -> [String] {
    try await onThread { [self] () throws(RemoteError) in try findMissingFolders() }
  }

  /// Makes the folders that a remote has lost, as empty ones. For a repair alone: what was in them is to be put back.
  ///
  /// - Parameter remote: which one it must be.
  /// - Returns: those that were made.
  /// - Throws: ``RemoteError`` `notARemote`, `damaged`, `identityMismatch` unless the marker is there and names that
  ///   remote: then nothing is made.
  package func makeMissingFolders(of remote: RemoteID) async throws(RemoteError) -> [String] {
    try await onThread { [self] () throws(RemoteError) in
      let missing = try findMissingFolders()
      guard !missing.isEmpty else { return [] }
      guard let found = try read(.marker, bytesMax: RemoteMarker.byteCount, allowsMore: false) else {
        throw .notARemote(name)
      }
      let identity = try RemoteMarker.read(found.bytes, of: name).remote
      guard identity == remote else { throw .identityMismatch(name, remote, identity) }
      try makeFolders(missing)
      return missing
    }
  }

  private func findMissingFolders() throws(RemoteError) -> [String] {
    let root = try openRoot()
    do throws(FileError) {
      let names = Set(try calls.names(in: root, directory))
      return Self.topFolders.filter { $0 != Self.temporary && !names.contains($0) }
    } catch {
      throw error.remoteError
    }
  }

  /// Whether the folder is a remote already.
  private func isMade() throws(RemoteError) -> Bool {
    try read(.marker, bytesMax: RemoteMarker.byteCount, allowsMore: false) != nil
  }

  /// Lets the folder's own name last: a loss of power must not take it with all that is synced in it. Whoever made it
  /// may have been killed before.
  private func syncName() throws(RemoteError) {
    let root = try openRoot()
    do throws(FileError) {
      let parent = try calls.openParent(of: root, directory)
      try calls.sync(parent, directory)
    } catch {
      // Who may not read the folder above has not made this one.
      if error.number != EACCES && error.number != EPERM { throw error.remoteError }
    }
  }

  /// Whether a name right below the root is of those that file systems and desktops put into every folder.
  static func isOfSystem(_ name: String) -> Bool { name.hasPrefix(".") || name == "lost+found" }

  /// Something in the folder that a remote does not begin with, and that no system puts there.
  private func foreignName() throws(RemoteError) -> String? {
    let root = try openRoot()
    do throws(FileError) {
      for name in try calls.names(in: root, directory) where !Self.isOfSystem(name) {
        guard Self.topFolders.contains(name) else { return name }
        if name == Self.temporary { continue }
        let folder = try calls.openDirectory(name, in: root, "\(directory)/\(name)")
        if let inner = try calls.names(in: folder, "\(directory)/\(name)").first { return "\(name)/\(inner)" }
      }
    } catch {
      throw error.remoteError
    }
    return nil
  }
}
