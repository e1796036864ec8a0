internal import EventStore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Lists all files of a folder remote.
struct FolderLister {
  /// The depth of the deepest path of a remote, and one more to find foreign files. It also ends a loop of
  /// links.
  private static let depthMax = 6

  let tree: FolderTree

  private var calls: FolderCalls { tree.calls }

  func entries() throws(RemoteError) -> [ObjectEntry] {
    let root = try tree.openRoot()
    var entries: [ObjectEntry] = []
    do throws(FileError) {
      for name in try calls.names(in: root, tree.directory) where !FolderMaker.isOfSystem(name) {
        try add(name, in: root, "", depth: 1, to: &entries)
      }
    } catch {
      throw error.remoteError
    }
    return entries.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// The first entry after another in the same log, or in the list of zones.
  ///
  /// - Complexity: lists the directory of that entry, and if nothing follows there, the log's directories
  func nextEntry(after name: ObjectName) throws(RemoteError) -> ObjectName? {
    let (log, directory) = (Array(name.components.dropLast(2)), name.components[name.components.count - 2])
    if let found = try firstEntry(of: log + [directory], after: name.last) { return found }
    for later in try names(of: log, after: directory) where ObjectName.isDirectoryOfEntries(later) {
      if let found = try firstEntry(of: log + [later], after: "") { return found }
    }
    return nil
  }

  private func firstEntry(of directory: [String], after last: String) throws(RemoteError) -> ObjectName? {
    try names(of: directory, after: last).lazy
      .compactMap { ObjectName(path: (directory + [$0]).joined(separator: "/")) }.first { $0.offset != nil }
  }

  /// The names in a directory after one, in order; none if there is no such directory.
  private func names(of components: [String], after last: String) throws(RemoteError) -> [String] {
    guard let directory = try tree.openDirectory(components) else { return [] }
    do throws(FileError) {
      return try calls.names(in: directory, "\(tree.directory)/\(components.joined(separator: "/"))") {
        last.utf8.lexicographicallyPrecedes($0.utf8)
      }
    } catch {
      throw error.remoteError
    }
  }

  /// Adds a file with its size, or all files of a directory. A directory that is empty, too deep, foreign, or
  /// may not be read is added itself.
  private func add(
    _ name: String, in directory: borrowing OpenFile, _ prefix: String, depth: Int,
    to entries: inout [ObjectEntry]
  ) throws(FileError) {
    let path = prefix + name
    let status: FolderCalls.Status
    do throws(FileError) {
      status = try calls.status(of: name, in: directory, "\(tree.directory)/\(path)")
    } catch {
      // It was removed since, as temporary files are, or its name is not UTF-8.
      if name.unicodeScalars.contains("\u{FFFD}") { entries.append(ObjectEntry(path: path, bytes: nil)) }
      return
    }
    guard status.isDirectory else {
      entries.append(ObjectEntry(path: path, bytes: status.isRegular ? status.bytes : nil))
      return
    }
    // Foreign folders are not opened: a remote may be the root of a disk, with folders that it may not read.
    let isOurs = depth > 1 || FolderTree.topFolders.contains(name)
    let count = entries.count
    if isOurs, depth < Self.depthMax {
      do throws(FileError) {
        let child = try calls.openDirectory(name, in: directory, "\(tree.directory)/\(path)")
        for inner in try calls.names(in: child, "\(tree.directory)/\(path)") {
          try add(inner, in: child, path + "/", depth: depth + 1, to: &entries)
        }
      } catch {
        switch error.number {
        // A deletion has removed it since.
        case ENOENT: return
        case EACCES, EPERM, ENOTDIR, ELOOP: entries.append(ObjectEntry(path: path + "/", bytes: nil))
        default: throw error
        }
      }
      // An empty directory of the remote is no finding: a full disk leaves one, and so does a snapshot that went.
      if depth <= 3 || ObjectName.isFolderBesideLog(path) { return }
    }
    if entries.count == count { entries.append(ObjectEntry(path: path + "/", bytes: nil)) }
  }
}
