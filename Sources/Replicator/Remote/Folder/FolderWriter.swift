internal import EventStore
internal import OperationFormat
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Writes objects of a folder remote: each first as a temporary file, then under its own name.
final class FolderWriter: Sendable {
  /// The age of a temporary file that a crash has left, in milliseconds: a day.
  private static let leftMilliseconds: UInt64 = 86_400_000

  /// The most of its temporary files that a process knows again.
  private static let ownNamesMax = 256

  let tree: FolderTree
  private let makeRandom: @Sendable () -> UInt64
  /// Whether this process has removed the temporary files that crashes left.
  private let hasSwept = Mutex(false)
  /// The last temporary files of this process: the oldest one is replaced by the next.
  private let ownNames = Mutex((names: [String](), oldest: 0))

  init(_ tree: FolderTree, makeRandom: @escaping @Sendable () -> UInt64) {
    self.tree = tree
    self.makeRandom = makeRandom
  }

  var calls: FolderCalls { tree.calls }

  /// The folder of temporary files.
  var temporariesPath: String { "\(tree.directory)/\(FolderTree.temporary)" }

  /// Whether a temporary file is one of the last ones of this process.
  func isOwn(_ temporary: String) -> Bool { ownNames.withLock { $0.names.contains(temporary) } }

  /// Writes an object unless one has that name.
  func put(_ name: ObjectName, _ bytes: [UInt8]) throws(RemoteError) -> Bool {
    try put(name, isTimed: false) { _ in bytes } != .exists
  }

  /// Writes an object unless one has that name. Its bytes may say the file system's time: when its temporary file was
  /// made. To know that costs no name and no other file.
  func put(_ name: ObjectName, timed bytes: (UInt64?) -> [UInt8]?) throws(RemoteError) -> TimedPut {
    try put(name, isTimed: true, bytes)
  }

  private func put(
    _ name: ObjectName, isTimed: Bool, _ bytes: (UInt64?) -> [UInt8]?
  ) throws(RemoteError) -> TimedPut {
    let mode = try tree.mode()
    let parent = try tree.makeParent(of: name, mode)
    do throws(FileError) {
      if try isThere(name, in: parent) {
        // Its writer may have crashed before it was durable.
        try calls.sync(parent, tree.path(name))
        return .exists
      }
    } catch {
      throw error.remoteError
    }
    let temporaries = try openTemporaries(mode)
    let temporary = temporaryName()
    var result: TimedPut
    do throws(FileError) {
      let file = try calls.createFile(temporary, in: temporaries, temporaryPath(temporary))
      let time = isTimed ? try calls.time(ofNew: file, temporaryPath(temporary)) : nil
      result = .declined(time)
      if let bytes = bytes(time) {
        try fill(file, temporary, bytes, mode, isSynced: true)
        let isPut = try publish(temporary, file, in: temporaries, as: name.last, in: parent, tree.path(name))
        result = isPut ? .put(time) : .exists
        try calls.sync(parent, tree.path(name))
        sweepOnce(temporaries, since: temporary)
      }
    } catch {
      remove(temporary, in: temporaries)
      throw refusal(error)
    }
    remove(temporary, in: temporaries)
    return result
  }

  /// Writes an object, and replaces the one that has that name. A hint is not durable; of any other object,
  /// the one before or the new one is there after a crash.
  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) throws(RemoteError) {
    let mode = try tree.mode()
    let parent = try tree.makeParent(of: name, mode)
    let temporaries = try openTemporaries(mode)
    let temporary = temporaryName()
    let isDurable = name != .hint
    do throws(FileError) {
      let file = try calls.createFile(temporary, in: temporaries, temporaryPath(temporary))
      try fill(file, temporary, bytes, mode, isSynced: isDurable)
      try calls.rename(temporary, in: temporaries, to: name.last, in: parent, tree.path(name))
      if isDurable { try calls.sync(parent, tree.path(name)) }
    } catch {
      remove(temporary, in: temporaries)
      throw refusal(error)
    }
  }

  /// Writes the content of a temporary file.
  func fill(
    _ file: borrowing OpenFile, _ temporary: String, _ bytes: [UInt8], _ mode: FolderMode, isSynced: Bool
  ) throws(FileError) {
    try calls.write(file, bytes, temporaryPath(temporary))
    try mode.give(toFile: file, calls, temporaryPath(temporary))
    if isSynced { try calls.sync(file, temporaryPath(temporary)) }
  }

  /// Gives a written file its name, if that is free.
  func publish(
    _ temporary: String, _ file: borrowing OpenFile, in temporaries: borrowing OpenFile,
    as name: String, in parent: borrowing OpenFile, _ path: String
  ) throws(FileError) -> Bool {
    do throws(FileError) {
      try calls.link(temporary, in: temporaries, to: name, in: parent, path)
      return true
    } catch {
      // A network file system repeats a call whose answer was lost, and then gives the error of the second
      // one.
      if try isSame(file, as: name, in: parent, path) { return true }
      switch error.number {
      case EEXIST: return false
      case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: break
      default: throw error
      }
    }
    do throws(FileError) {
      try calls.renameExclusively(temporary, in: temporaries, to: name, in: parent, path)
      return true
    } catch {
      if try isSame(file, as: name, in: parent, path) { return true }
      if error.number == EEXIST { return false }
      throw error
    }
  }

  /// Whether a name leads to an open file.
  private func isSame(
    _ file: borrowing OpenFile, as name: String, in parent: borrowing OpenFile, _ path: String
  ) throws(FileError) -> Bool {
    let own = try calls.status(of: file, path)
    do throws(FileError) {
      let found = try calls.status(of: name, in: parent, path)
      return found.device == own.device && found.inode == own.inode
    } catch {
      if error.number == ENOENT { return false }
      throw error
    }
  }

  private func isThere(_ name: ObjectName, in parent: borrowing OpenFile) throws(FileError) -> Bool {
    do throws(FileError) {
      _ = try calls.status(of: name.last, in: parent, tree.path(name))
      return true
    } catch {
      if error.number == ENOENT { return false }
      throw error
    }
  }

  /// Waits until the objects of a directory are durable: their writers may have crashed before they were.
  func makeLasting(_ name: ObjectName) throws(RemoteError) {
    guard let parent = try tree.openParent(of: name) else { return }
    do throws(FileError) {
      try calls.sync(parent, tree.path(name))
    } catch {
      switch error.number {
      // A user who may only read cannot do it, and still reads.
      case EACCES, EPERM, EROFS, EINVAL, EOPNOTSUPP: return
      default: throw error.remoteError
      }
    }
  }

  // MARK: Temporary files

  /// Opens the folder of temporary files, and makes it if a copying tool has omitted it as empty.
  func openTemporaries(_ mode: FolderMode) throws(RemoteError) -> OpenFile {
    let root = try tree.openRoot()
    let path = "\(tree.directory)/\(FolderTree.temporary)"
    do throws(FileError) {
      return try calls.openDirectory(FolderTree.temporary, in: root, path)
    } catch {
      if error.number != ENOENT { throw error.remoteError }
    }
    do throws(FileError) {
      try calls.makeDirectory(FolderTree.temporary, in: root, path)
    } catch {
      if error.number != EEXIST { throw error.remoteError }
    }
    do throws(FileError) {
      let temporaries = try calls.openDirectory(FolderTree.temporary, in: root, path)
      try mode.give(to: temporaries, calls, path)
      return temporaries
    } catch {
      throw error.remoteError
    }
  }

  /// Removes a temporary file. One that stays does no harm: nobody reads it.
  func remove(_ temporary: String, in temporaries: borrowing OpenFile) {
    do throws(FileError) {
      try calls.unlink(temporary, in: temporaries, isOwn: true, temporaryPath(temporary))
    } catch {
      // It was removed already, or it stays.
    }
  }

  /// Removes temporary files that are a day older than a new one, once in a process: their writers have
  /// crashed. A writer that was only suspended gets an error for its missing file, and repeats the put.
  private func sweepOnce(_ temporaries: borrowing OpenFile, since own: String) {
    let isFirst = hasSwept.withLock { hasSwept in
      defer { hasSwept = true }
      return !hasSwept
    }
    guard isFirst else { return }
    guard let now = modifiedMilliseconds(own, in: temporaries) else { return }
    let names: [String]
    do throws(FileError) {
      names = try calls.names(in: temporaries, "\(tree.directory)/\(FolderTree.temporary)")
    } catch {
      // They stay until another process sweeps.
      return
    }
    for name in names where IncarnationID(name) != nil {
      guard let then = modifiedMilliseconds(name, in: temporaries), now > then,
        now - then > Self.leftMilliseconds
      else { continue }
      remove(name, in: temporaries)
    }
  }

  /// When a temporary file was last written; nil if it does not exist.
  private func modifiedMilliseconds(_ temporary: String, in temporaries: borrowing OpenFile) -> UInt64? {
    do throws(FileError) {
      let status = try calls.status(of: temporary, in: temporaries, temporaryPath(temporary))
      return status.isRegular ? status.modifiedMilliseconds : nil
    } catch {
      return nil
    }
  }

  /// A name of 128 random bits: no two writers choose the same.
  func temporaryName() -> String { temporaryNames(1)[0] }

  /// Names that follow one of 128 random bits.
  func temporaryNames(_ count: UInt128) -> [String] {
    let first = IncarnationID.random(makeRandom).rawValue
    let names = (0..<count).map { IncarnationID(rawValue: first &+ $0).description }
    ownNames.withLock { own in
      for name in names {
        if own.names.count < Self.ownNamesMax {
          own.names.append(name)
        } else {
          own.names[own.oldest] = name
          own.oldest = (own.oldest + 1) % Self.ownNamesMax
        }
      }
    }
    return names
  }

  func temporaryPath(_ temporary: String) -> String {
    "\(tree.directory)/\(FolderTree.temporary)/\(temporary)"
  }

  /// The error of a failed put: `unsuitable` if the file system cannot do it.
  func refusal(_ error: FileError) -> RemoteError {
    let isNaming = ["linkat", "renameat2"].contains(error.call.description)
    guard isNaming, [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV, EINVAL].contains(error.number) else {
      return error.remoteError
    }
    return RemoteError(
      .unsuitable,
      "the file system of \(tree.directory) can neither link files nor rename them without replacing others",
      hint: "keep the remote on a file system that can, such as ext4, XFS, Btrfs, APFS or NFS; not on FAT",
      underlying: error)
  }
}
