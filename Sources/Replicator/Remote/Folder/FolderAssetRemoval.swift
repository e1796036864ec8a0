internal import EventStore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Removes the assets and the snapshots of a closed log: nobody reads them any more. Foreign files stay.
struct FolderAssetRemoval {
  let tree: FolderTree

  private var calls: FolderCalls { tree.calls }

  /// Removes all objects of assets and snapshots, and the directories that are empty then.
  func removeAssets(of incarnation: IncarnationID) throws(RemoteError) {
    let name = ObjectName.log(of: incarnation)
    guard let logs = try tree.openParent(of: name) else { return }
    do throws(FileError) {
      try removeAssets("\(name)", name.last, in: logs, depth: 0)
    } catch {
      if error.number != ENOENT { throw error.remoteError }
    }
  }

  /// Removes objects in a directory of a log, and the directories below it that have none left. The objects are two
  /// directories deep: `assets-ab`, and the asset's hash; or `snapshots-offset`, and the maker.
  private func removeAssets(
    _ path: String, _ name: String, in parent: borrowing OpenFile, depth: Int
  ) throws(FileError) {
    let directory = try calls.openDirectory(name, in: parent, "\(tree.directory)/\(path)")
    for child in try calls.names(in: directory, "\(tree.directory)/\(path)") {
      let childPath = "\(path)/\(child)"
      if depth == 2 {
        guard ObjectName(path: childPath)?.goesWithZone ?? false,
          try !calls.status(of: child, in: directory, "\(tree.directory)/\(childPath)").isDirectory
        else { continue }
        try calls.unlink(child, in: directory, "\(tree.directory)/\(childPath)")
        continue
      }
      guard
        depth == 1 || child.hasPrefix(ObjectName.assetsPrefix) || child.hasPrefix(ObjectName.snapshotsPrefix),
        try calls.status(of: child, in: directory, "\(tree.directory)/\(childPath)").isDirectory
      else { continue }
      try removeAssets(childPath, child, in: directory, depth: depth + 1)
      do throws(FileError) {
        try calls.removeDirectory(child, in: directory, "\(tree.directory)/\(childPath)")
      } catch {
        // It has something foreign, or something that was put there since.
        if error.number != ENOTEMPTY && error.number != EEXIST { throw error }
      }
    }
  }
}
