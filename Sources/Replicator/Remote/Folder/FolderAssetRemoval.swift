#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension FolderObjects {
  /// Removes what a log has of assets, and the directories that are empty then. What is foreign stays.
  ///
  /// For a log that is closed: nobody reads them any more, and what is put there late by who does not know yet is
  /// as useless as what was there.
  func removeAssets(of incarnation: IncarnationID) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try removeAllAssets(of: incarnation) }
  }

  private func removeAllAssets(of incarnation: IncarnationID) throws(RemoteError) {
    let name = ObjectName.log(of: incarnation)
    guard let logs = try openParent(of: name) else { return }
    do throws(FileError) {
      try removeAssets("\(name)", name.last, in: logs, depth: 0)
    } catch {
      if error.number != ENOENT { throw error.remoteError }
    }
  }

  /// Removes objects of assets in a directory of a log, and the directories below it that have none left. They lie
  /// two directories deep: `assets-ab`, and the asset's hash.
  private func removeAssets(
    _ path: String, _ name: String, in parent: borrowing Descriptor, depth: Int
  ) throws(FileError) {
    let directory = try calls.openDirectory(name, in: parent, "\(self.directory)/\(path)")
    for child in try calls.names(in: directory, "\(self.directory)/\(path)") {
      let childPath = "\(path)/\(child)"
      if depth == 2 {
        guard ObjectName(path: childPath)?.isOfAsset ?? false else { continue }
        try calls.unlink(child, in: directory, "\(self.directory)/\(childPath)")
        continue
      }
      guard depth == 1 || child.hasPrefix(ObjectName.assetsPrefix),
        try calls.status(of: child, in: directory, "\(self.directory)/\(childPath)").isDirectory
      else { continue }
      try removeAssets(childPath, child, in: directory, depth: depth + 1)
      do throws(FileError) {
        try calls.removeDirectory(child, in: directory, "\(self.directory)/\(childPath)")
      } catch {
        // Something foreign is in it, or was put there meanwhile.
        if error.number != ENOTEMPTY && error.number != EEXIST { throw error }
      }
    }
  }
}
