internal import EventStore
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Objects as files of a folder that several machines may share.
///
/// The folder is opened by its path at each call, because a mount may go away and come back; what is in it is opened
/// from there, component by component, through no symbolic link. An object appears by `link` of a file that was
/// written and synced under another name: so it is whole, exactly one wins, and a crash leaves at most a file in
/// `tmp`, which nobody reads and the first put of another process removes after a day.
///
/// The file system's calls block threads of the remote's own, as long as they like: a share that does not answer takes
/// none of the pool's, and a task that is cancelled does not wait for it.
package final class FolderObjects: ObjectStore {
  /// The folders right below the root: made by ``create(_:)`` alone, so that a mount point without its mount is told
  /// from a remote.
  static let topFolders = ["logs", "tmp", "zones"]
  /// Where files lie while they are written.
  static let temporary = "tmp"

  /// The most calls that the file system works at. A share that hangs may keep all of them; later calls wait then.
  static let threadsMax = 8

  let directory: String
  let calls: FolderCalls
  let threads: BlockingThreads
  let makeRandom: @Sendable () -> UInt64
  /// Whether a missing folder below the root reads as an empty one, where the marker is there: for an audit alone.
  private let readsWithoutFolders: Bool
  /// Directories whose own names are known to last: paths below the root.
  private let lasting = Mutex<Set<String>>([])
  /// Whether this one has looked for what crashes left in `tmp`.
  private let hasSwept = Mutex(false)

  init(
    directory: String, calls: FolderCalls, threadsMax: Int = FolderObjects.threadsMax,
    readsWithoutFolders: Bool = false, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    self.directory = directory
    self.calls = calls
    self.readsWithoutFolders = readsWithoutFolders
    threads = BlockingThreads(countMax: threadsMax)
    self.makeRandom = makeRandom
  }

  /// Objects in a folder that takes its random bits from the caller, for tests.
  ///
  /// - Parameters:
  ///   - blocksCallers: whether calls block the thread of their task, for a simulator.
  ///   - readsWithoutFolders: whether a missing folder below the root reads as an empty one, where the marker is
  ///     there. Only for what reports those folders: to all others they are lost, and nothing may look deleted.
  package convenience init(
    directory: String, blocksCallers: Bool = false, readsWithoutFolders: Bool = false,
    makeRandom: @escaping @Sendable () -> UInt64
  ) {
    self.init(
      directory: directory, calls: FolderCalls(), threadsMax: blocksCallers ? 0 : Self.threadsMax,
      readsWithoutFolders: readsWithoutFolders, makeRandom: makeRandom)
  }

  package var name: String { "folder:\(directory)" }

  package func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try await onThread { [self] () throws(RemoteError) in
      try read(name, bytesMax: bytesMax, allowsMore: false)?.bytes
    }
  }

  package func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    try await onThread { [self] () throws(RemoteError) in
      try read(name, bytesMax: count, allowsMore: true)
    }
  }

  package func delete(_ name: ObjectName) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in try remove(name) }
  }

  /// Removes an object, if it is there.
  func remove(_ name: ObjectName) throws(RemoteError) {
    guard let parent = try openParent(of: name) else { return }
    do throws(FileError) {
      try calls.unlink(name.last, in: parent, path(name))
      try calls.sync(parent, path(name))
    } catch {
      if error.number != ENOENT { throw error.remoteError }
    }
  }

  /// Runs calls of the file system on a thread of the remote's.
  func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws(RemoteError) -> Result
  ) async throws(RemoteError) -> Result {
    do {
      return try await threads.run(.leaves) { _ in try body() }
    } catch let error as RemoteError {
      throw error
    } catch is CancellationError {
      throw .cancelled(name)
    } catch {
      throw RemoteError(
        .later, "\(error)", hint: "the machine is short of something for now; try again", underlying: error)
    }
  }

  /// Whether what crashes left is still to be looked for; never again after.
  func takeSweep() -> Bool {
    hasSwept.withLock { hasSwept in
      defer { hasSwept = true }
      return !hasSwept
    }
  }

  package func changes() -> AsyncStream<Void> {
    FolderWatch.changes(of: "\(directory)/\(Self.temporary)", threads)
  }

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
      // What open says of a socket, and of a device that has no driver.
      case ENXIO where error.call.description == "openat":
        throw FileError(number: EISDIR, call: error.call, path: error.path).remoteError.at(name)
      default: throw error.remoteError.at(name)
      }
    }
    throw .tooLarge(name, foundBytes, bytesMax)
  }

  // MARK: The way down

  /// The path of an object, for messages.
  func path(_ name: ObjectName) -> String { "\(directory)/\(name)" }

  /// Opens the folder.
  func openRoot() throws(RemoteError) -> Descriptor {
    do throws(FileError) {
      return try calls.openDirectory(directory)
    } catch {
      switch error.number {
      case ENOENT:
        throw RemoteError(
          .unreachable, "there is no folder \(directory)",
          hint: "mount the disk or share that it is on, or check the path")
      case ENOTDIR:
        throw RemoteError(
          .notARemote, "\(directory) is not a folder", hint: "name the folder that the remote is in")
      default: throw error.remoteError
      }
    }
  }

  /// Opens the directory that an object lies in; nil if there is none.
  func openParent(of name: ObjectName) throws(RemoteError) -> Descriptor? {
    var current = try openRoot()
    var path = directory
    for (depth, component) in name.components.dropLast().enumerated() {
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

  /// Opens the directory that an object is to lie in, and makes what is missing of the way to it.
  ///
  /// Each directory's name is made to last, and its mode that of the root, once a process, whoever made it: a writer may
  /// have been killed between.
  func makeParent(of name: ObjectName, _ mode: FolderMode) throws(RemoteError) -> Descriptor {
    var current = try openRoot()
    var relative = ""
    for (depth, component) in name.components.dropLast().enumerated() {
      relative += "/\(component)"
      let path = directory + relative
      let isKnown = lasting.withLock { $0.contains(relative) }
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
      if !isKnown { lasting.withLock { _ = $0.insert(relative) } }
    }
    return current
  }

  /// The mode of the root, which all that is put below it gets.
  func mode() throws(RemoteError) -> FolderMode {
    let root = try openRoot()
    do throws(FileError) {
      return FolderMode(ofRoot: try calls.status(of: root, directory))
    } catch {
      throw error.remoteError
    }
  }

  /// Makes a directory unless something of its name is there.
  private func make(
    _ component: String, in directory: borrowing Descriptor, _ path: String
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

  /// What it means that one of the folders right below the root is not there.
  private func missing(_ folder: String, in root: borrowing Descriptor) -> RemoteError {
    do throws(FileError) {
      _ = try calls.status(of: ObjectName.marker.last, in: root, directory)
    } catch {
      return error.number == ENOENT ? .notARemote(name) : error.remoteError
    }
    return RemoteError(
      .damaged, "\(name) has no folder `\(folder)` any more",
      hint:
        "restore it from a backup, or run `replay remote REMOTE --repair STORE` with each store that was synced "
        + "there: it makes the folder, and puts back what the store has")
  }
}
