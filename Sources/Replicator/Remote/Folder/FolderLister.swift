#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension FolderObjects {
  /// The deepest path that a remote has, and one more to see what is foreign: no link or loop leads further.
  private static let depthMax = 6

  package func list() async throws(RemoteError) -> [ObjectEntry] {
    try await onThread { [self] () throws(RemoteError) in try entries() }
  }

  private func entries() throws(RemoteError) -> [ObjectEntry] {
    let root = try openRoot()
    var entries: [ObjectEntry] = []
    do throws(FileError) {
      for name in try calls.names(in: root, directory) where !Self.isOfSystem(name) {
        try add(name, in: root, "", depth: 1, to: &entries)
      }
    } catch {
      throw error.remoteError
    }
    return entries.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// Adds what has a name in a directory: a file with its size, or all that is in a directory. A directory that is empty, too
  /// deep, foreign, or may not be read is added itself.
  private func add(
    _ name: String, in directory: borrowing Descriptor, _ prefix: String, depth: Int,
    to entries: inout [ObjectEntry]
  ) throws(FileError) {
    let path = prefix + name
    let status: FolderCalls.Status
    do throws(FileError) {
      status = try calls.status(of: name, in: directory, "\(self.directory)/\(path)")
    } catch {
      // It went while we read, as temporary files do, or its name is no UTF-8.
      if name.unicodeScalars.contains("\u{FFFD}") { entries.append(ObjectEntry(path: path, bytes: nil)) }
      return
    }
    guard status.isDirectory else {
      entries.append(ObjectEntry(path: path, bytes: status.isRegular ? status.bytes : nil))
      return
    }
    // Foreign folders are not opened: a remote may be the root of a disk, where some are not for everybody.
    let isOurs = depth > 1 || Self.topFolders.contains(name)
    let count = entries.count
    if isOurs, depth < Self.depthMax {
      do throws(FileError) {
        let child = try calls.openDirectory(name, in: directory, "\(self.directory)/\(path)")
        for inner in try calls.names(in: child, "\(self.directory)/\(path)") {
          try add(inner, in: child, path + "/", depth: depth + 1, to: &entries)
        }
      } catch {
        switch error.number {
        // A deletion has removed it meanwhile.
        case ENOENT: return
        case EACCES, EPERM, ENOTDIR, ELOOP: entries.append(ObjectEntry(path: path + "/", bytes: nil))
        default: throw error
        }
      }
      // An empty directory of ours is nothing to tell: a full disk leaves one.
      if depth <= 3 || ObjectName.isAssetFolder(path) { return }
    }
    if entries.count == count { entries.append(ObjectEntry(path: path + "/", bytes: nil)) }
  }
}
