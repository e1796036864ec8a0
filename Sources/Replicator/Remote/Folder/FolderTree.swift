internal import EventStore
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The directories and files of a folder remote.
///
/// The folder is opened by its path at each call, because a mount may disappear and come back. All that is in
/// it is opened from there, component by component, through no symbolic link. The calls block the thread.
final class FolderTree: Sendable {
  /// The folders right below the root. Only ``FolderMaker`` makes them, so that a remote can be told from a
  /// mount point without its mount.
  static let topFolders = ["logs", "tmp", "zones"]
  /// The folder of the files that are being written.
  static let temporary = "tmp"

  let directory: String
  let calls: FolderCalls
  /// Whether a missing folder below the root reads as an empty one, if the marker exists: only for an audit.
  private let readsWithoutFolders: Bool
  /// Directories whose own names are known to be durable: paths below the root.
  private let durable = Mutex<Set<String>>([])

  init(_ directory: String, _ calls: FolderCalls, readsWithoutFolders: Bool) {
    SystemEnvironment.fillStandardDescriptors()
    self.directory = directory
    self.calls = calls
    self.readsWithoutFolders = readsWithoutFolders
  }

  /// The remote's name for messages.
  var name: String { "folder:\(directory)" }

  /// The path of an object, for messages.
  func path(_ name: ObjectName) -> String { "\(directory)/\(name)" }

  /// The mode of the root, which all that is put below it gets.
  func mode() throws(RemoteError) -> FolderMode {
    let root = try openRoot()
    do throws(FileError) {
      return FolderMode(ofRoot: try calls.status(of: root, directory))
    } catch {
      throw error.remoteError
    }
  }

  // MARK: Objects

  /// Reads the first bytes of an object; nil if there is none.
  ///
  /// - Parameter allowsMore: whether the object may be larger.
  func read(_ name: ObjectName, bytesMax: Int, allowsMore: Bool) throws(RemoteError) -> ObjectPrefix? {
    guard let parent = try openParent(of: name) else { return nil }
    var foundBytes: UInt64 = 0
    do throws(FileError) {
      let file = try calls.openFile(name.last, in: parent, path(name))
      let status = try calls.status(of: file, path(name))
      guard status.isRegular else { throw FileError(number: EISDIR, call: "fstat", path: path(name)) }
      foundBytes = status.bytes
      if allowsMore || foundBytes <= UInt64(bytesMax) {
        let bytes = try calls.read(file, min(bytesMax, Int(clamping: foundBytes)), path(name))
        return ObjectPrefix(bytes: bytes, totalBytes: foundBytes)
      }
    } catch {
      switch error.number {
      case ENOENT: return nil
      // The error of open for a socket, and for a device without a driver.
      case ENXIO where error.call.description == "openat":
        throw FileError(number: EISDIR, call: error.call, path: error.path).remoteError.at(name)
      default: throw error.remoteError.at(name)
      }
    }
    throw .tooLarge(name, foundBytes, bytesMax)
  }

  /// Removes an object, if it exists.
  func remove(_ name: ObjectName) throws(RemoteError) {
    guard let parent = try openParent(of: name) else { return }
    do throws(FileError) {
      try calls.unlink(name.last, in: parent, path(name))
      try calls.sync(parent, path(name))
    } catch {
      if error.number != ENOENT { throw error.remoteError }
    }
  }

  // MARK: Directories

  /// Opens the folder.
  func openRoot() throws(RemoteError) -> OpenFile {
    do throws(FileError) {
      return try calls.openDirectory(directory)
    } catch {
      switch error.number {
      case ENOENT:
        throw RemoteError(
          .unreachable, "there is no folder \(directory)",
          hint: "mount its disk or share, or check the path")
      case ENOTDIR:
        throw RemoteError(
          .notARemote, "\(directory) is not a folder", hint: "name the folder of the remote")
      default: throw error.remoteError
      }
    }
  }

  /// Opens the directory of an object; nil if there is none.
  func openParent(of name: ObjectName) throws(RemoteError) -> OpenFile? {
    try openDirectory(name.components.dropLast())
  }

  /// Opens a directory by its path below the root; nil if there is none.
  func openDirectory(_ components: [String]) throws(RemoteError) -> OpenFile? {
    var current = try openRoot()
    var path = directory
    for (depth, component) in components.enumerated() {
      path += "/\(component)"
      do throws(FileError) {
        current = try calls.openDirectory(component, in: current, path)
      } catch {
        guard error.number == ENOENT else { throw error.remoteError }
        if depth == 0 {
          let error = missing(component, in: current)
          guard readsWithoutFolders, error.code == .damaged else { throw error }
        }
        return nil
      }
    }
    return current
  }

  /// Opens the directory of an object, and makes the directories that are missing.
  ///
  /// Each directory's name is made durable, and gets the mode of the root, once in a process: the writer that
  /// made it may have been killed before.
  func makeParent(of name: ObjectName, _ mode: FolderMode) throws(RemoteError) -> OpenFile {
    var current = try openRoot()
    var relative = ""
    for (depth, component) in name.components.dropLast().enumerated() {
      relative += "/\(component)"
      let path = directory + relative
      let isKnown = durable.withLock { $0.contains(relative) }
      var isNew = false
      do throws(FileError) {
        if depth > 0 { isNew = try make(component, in: current, path) }
        let child = try calls.openDirectory(component, in: current, path)
        if isNew || !isKnown {
          try mode.give(to: child, calls, path)
          if depth > 0 { try calls.sync(current, path) }
        }
        current = child
      } catch {
        if error.number == ENOENT && depth == 0 { throw missing(component, in: current) }
        throw error.remoteError
      }
      if !isKnown { durable.withLock { _ = $0.insert(relative) } }
    }
    return current
  }

  /// Makes a directory unless something has its name.
  private func make(
    _ component: String, in directory: borrowing OpenFile, _ path: String
  ) throws(FileError) -> Bool {
    do throws(FileError) {
      _ = try calls.status(of: component, in: directory, path)
      return false
    } catch {
      if error.number != ENOENT { throw error }
    }
    do throws(FileError) {
      try calls.makeDirectory(component, in: directory, path)
    } catch {
      if error.number != EEXIST { throw error }
    }
    return true
  }

  /// The error for a missing folder right below the root.
  private func missing(_ folder: String, in root: borrowing OpenFile) -> RemoteError {
    do throws(FileError) {
      _ = try calls.status(of: ObjectName.marker.last, in: root, directory)
    } catch {
      return error.number == ENOENT ? .notARemote(name) : error.remoteError
    }
    return RemoteError(
      .damaged, "\(name) has no folder `\(folder)` any more",
      hint:
        "restore it from a backup, or run `replay remote REMOTE --repair STORE` with each store that was "
        + "synced there: it makes the folder, and puts back what the store has")
  }
}
