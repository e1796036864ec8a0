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
      try list(root, "", depth: 1, into: &entries)
    } catch {
      throw error.remoteError
    }
    return entries.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// Adds what is in a directory: files with their sizes, and directories that are empty, too deep or foreign.
  private func list(
    _ directory: borrowing Descriptor, _ prefix: String, depth: Int, into entries: inout [ObjectEntry]
  ) throws(FileError) {
    for name in try calls.names(in: directory, "\(self.directory)/\(prefix)") {
      let path = prefix + name
      let status: FolderCalls.Status
      do throws(FileError) {
        status = try calls.status(of: name, in: directory, "\(self.directory)/\(path)")
      } catch {
        // It went while we read, as temporary files do, or its name is no UTF-8.
        if !name.unicodeScalars.contains("\u{FFFD}") { continue }
        entries.append(ObjectEntry(path: path, bytes: nil))
        continue
      }
      guard status.isDirectory else {
        entries.append(ObjectEntry(path: path, bytes: status.isRegular ? status.bytes : nil))
        continue
      }
      guard depth < Self.depthMax else {
        entries.append(ObjectEntry(path: path + "/", bytes: nil))
        continue
      }
      let child = try calls.openDirectory(name, in: directory, "\(self.directory)/\(path)")
      let count = entries.count
      try list(child, path + "/", depth: depth + 1, into: &entries)
      // An empty directory of ours is nothing to tell.
      if entries.count == count && depth > 3 { entries.append(ObjectEntry(path: path + "/", bytes: nil)) }
    }
  }
}
