internal import EventStore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Makes all system calls of a folder remote, but those of the watch.
///
/// Everything below the folder is opened component by component, through no symbolic link.
struct FolderCalls: Sendable {
  /// Called before each call with its C name; nil lets it run. Only in debug builds.
  var fault: (@Sendable (StaticString) -> FileFault?)?
  /// The file system's clock in a simulation, in milliseconds since 1970; nil for its own.
  var milliseconds: (@Sendable () -> UInt64)?
  /// Called after each call that synced a file or directory, with its descriptor. Only in debug builds.
  var didSync: (@Sendable (Int32) -> Void)?
  /// Whether a link and an exclusive rename replace what has the name, as on a file system that is no place for a
  /// remote. Only in debug builds.
  var replacesNames = false

  init(
    fault: (@Sendable (StaticString) -> FileFault?)? = nil, milliseconds: (@Sendable () -> UInt64)? = nil
  ) {
    self.milliseconds = milliseconds
    self.fault = fault
  }

  /// The status of a file.
  struct Status {
    var device: UInt64
    var inode: UInt64
    var bytes: UInt64
    /// When its content last changed, in milliseconds since 1970 by the file system's clock; 0 for what is before.
    var modifiedMilliseconds: UInt64
    var isRegular: Bool
    var isDirectory: Bool
    /// The lowest 12 bits of its mode.
    var modeBits: UInt32
    /// Whether this process's user owns it.
    var isOwn: Bool

    fileprivate init(_ raw: stat) {
      device = UInt64(truncatingIfNeeded: raw.st_dev)
      inode = UInt64(raw.st_ino)
      bytes = UInt64(clamping: raw.st_size)
      #if canImport(Darwin)
        let modified = raw.st_mtimespec
      #else
        let modified = raw.st_mtim
      #endif
      // A damaged file system may say anything.
      let seconds = min(UInt64(max(modified.tv_sec, 0)), UInt64(Int64.max) / 1000 - 1)
      modifiedMilliseconds = seconds * 1000 + UInt64(min(max(modified.tv_nsec, 0), 999_999_999)) / 1_000_000
      isRegular = raw.st_mode & S_IFMT == S_IFREG
      isDirectory = raw.st_mode & S_IFMT == S_IFDIR
      modeBits = UInt32(raw.st_mode) & 0o7777
      isOwn = raw.st_uid == geteuid()
    }
  }

  // MARK: Directories

  /// Opens a directory by its path (open).
  func openDirectory(_ path: String) throws(FileError) -> OpenFile {
    OpenFile(try call("open", path) { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
  }

  /// Opens a directory in another (openat).
  func openDirectory(
    _ name: String, in directory: borrowing OpenFile, _ path: String
  ) throws(FileError) -> OpenFile {
    let parent = directory.descriptor
    return OpenFile(
      try call("openat", path) { openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) })
  }

  /// Opens the parent of a directory (openat).
  func openParent(of directory: borrowing OpenFile, _ path: String) throws(FileError) -> OpenFile {
    let child = directory.descriptor
    return OpenFile(try call("openat", path) { openat(child, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
  }

  /// Makes a directory by its path (mkdir).
  func makeDirectory(_ path: String) throws(FileError) {
    _ = try call("mkdir", path) { mkdir(path, 0o777) }
  }

  /// Makes a directory in another (mkdirat).
  func makeDirectory(
    _ name: String, in directory: borrowing OpenFile, _ path: String
  ) throws(FileError) {
    let parent = directory.descriptor
    _ = try call("mkdirat", path) { mkdirat(parent, name, 0o777) }
  }

  /// The names in a directory, in the order of their bytes (openat, readdir): see ``OpenFile/names(_:)``.
  func names(
    in directory: borrowing OpenFile, _ path: String, where isWanted: (String) -> Bool = { _ in true }
  ) throws(FileError) -> [String] {
    // A new descriptor, because each has a position in the directory.
    let parent = directory.descriptor
    let copy = try call("openat", path) { openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    return try OpenFile(copy).names(path, where: isWanted)
  }

  // MARK: Files

  /// Opens a file for reading; without blocking, if it is a pipe or a device (openat).
  func openFile(
    _ name: String, in directory: borrowing OpenFile, _ path: String
  ) throws(FileError) -> OpenFile {
    let parent = directory.descriptor
    return OpenFile(
      try call("openat", path) { openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) })
  }

  /// Makes a file for writing that only its owner may read (openat).
  func createFile(
    _ name: String, in directory: borrowing OpenFile, _ path: String
  ) throws(FileError) -> OpenFile {
    let parent = directory.descriptor
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    return OpenFile(try call("openat", path) { openat(parent, name, flags, 0o600) })
  }

  /// The status of an open file (fstat).
  func status(of file: borrowing OpenFile, _ path: String) throws(FileError) -> Status {
    let descriptor = file.descriptor
    var raw = stat()
    _ = try call("fstat", path) { fstat(descriptor, &raw) }
    return Status(raw)
  }

  /// The file system's clock: when a file that was made just now was last modified (fstat).
  func time(ofNew file: borrowing OpenFile, _ path: String) throws(FileError) -> UInt64 {
    if let milliseconds { return milliseconds() }
    return try status(of: file, path).modifiedMilliseconds
  }

  /// The status of a name, links not followed (fstatat).
  func status(
    of name: String, in directory: borrowing OpenFile, _ path: String
  ) throws(FileError) -> Status {
    let parent = directory.descriptor
    var raw = stat()
    _ = try call("fstatat", path) { fstatat(parent, name, &raw, AT_SYMLINK_NOFOLLOW) }
    return Status(raw)
  }

  /// Reads a file's first bytes: fewer than `count` only if the file is smaller (pread).
  func read(_ file: borrowing OpenFile, _ count: Int, _ path: String) throws(FileError) -> [UInt8] {
    let descriptor = file.descriptor
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let start = done
      let got = try call("pread", path) {
        bytes.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress! + start, count - start, off_t(start))
        }
      }
      if got == 0 { break }
      done += got
    }
    bytes.removeLast(count - done)
    return bytes
  }

  /// Writes all bytes to a new file (write).
  func write(_ file: borrowing OpenFile, _ bytes: [UInt8], _ path: String) throws(FileError) {
    let descriptor = file.descriptor
    var done = 0
    while done < bytes.count {
      let start = done
      done += try call("write", path) {
        bytes.withUnsafeBytes { buffer in
          #if canImport(Darwin)
            Darwin.write(descriptor, buffer.baseAddress! + start, buffer.count - start)
          #else
            Glibc.write(descriptor, buffer.baseAddress! + start, buffer.count - start)
          #endif
        }
      }
    }
  }

  /// Waits until a file or directory is durable (fsync).
  func sync(_ file: borrowing OpenFile, _ path: String) throws(FileError) {
    let descriptor = file.descriptor
    _ = try call("fsync", path) { fsync(descriptor) }
    #if DEBUG
      didSync?(descriptor)
    #endif
  }

  // MARK: Names

  /// Gives a file a second name, unless something has that name (linkat).
  func link(
    _ name: String, in directory: borrowing OpenFile, to newName: String,
    in newDirectory: borrowing OpenFile, _ path: String
  ) throws(FileError) {
    let (parent, newParent) = (directory.descriptor, newDirectory.descriptor)
    #if DEBUG
      if replacesNames { unlinkat(newParent, newName, 0) }
    #endif
    _ = try call("linkat", path) { linkat(parent, name, newParent, newName, 0) }
  }

  /// Renames a file, unless something has the new name (renameat2, renameatx_np).
  func renameExclusively(
    _ name: String, in directory: borrowing OpenFile, to newName: String,
    in newDirectory: borrowing OpenFile, _ path: String
  ) throws(FileError) {
    let (parent, newParent) = (directory.descriptor, newDirectory.descriptor)
    #if DEBUG
      if replacesNames { unlinkat(newParent, newName, 0) }
    #endif
    _ = try call("renameat2", path) {
      #if canImport(Darwin)
        renameatx_np(parent, name, newParent, newName, UInt32(RENAME_EXCL))
      #else
        exclusiveRename(parent, name, newParent, newName)
      #endif
    }
  }

  /// Renames a file, and replaces one that has the new name (renameat).
  func rename(
    _ name: String, in directory: borrowing OpenFile, to newName: String,
    in newDirectory: borrowing OpenFile, _ path: String
  ) throws(FileError) {
    let (parent, newParent) = (directory.descriptor, newDirectory.descriptor)
    _ = try call("renameat", path) { renameat(parent, name, newParent, newName) }
  }

  /// Sets the mode of a file or directory (fchmod).
  func setMode(of file: borrowing OpenFile, _ bits: UInt32, _ path: String) throws(FileError) {
    let descriptor = file.descriptor
    _ = try call("fchmod", path) { fchmod(descriptor, mode_t(bits)) }
  }

  /// Removes a file (unlinkat).
  ///
  /// - Parameter isOwn: whether no other call knows the file: then it is removed also if the task was
  ///   cancelled.
  func unlink(
    _ name: String, in directory: borrowing OpenFile, isOwn: Bool = false, _ path: String
  ) throws(FileError) {
    let parent = directory.descriptor
    _ = try call("unlinkat", path, isWanted: isOwn) { unlinkat(parent, name, 0) }
  }

  /// Removes an empty directory (unlinkat).
  func removeDirectory(_ name: String, in directory: borrowing OpenFile, _ path: String) throws(FileError) {
    let parent = directory.descriptor
    _ = try call("unlinkat", path) { unlinkat(parent, name, AT_REMOVEDIR) }
  }

  /// Makes a call, and repeats it if a signal interrupted it. It makes none for a cancelled task: another
  /// task may do the same work by then.
  private func call<Result: FixedWidthInteger>(
    _ name: StaticString, _ path: String, isWanted: Bool = false, _ body: () -> Result
  ) throws(FileError) -> Result {
    while true {
      if !isWanted, let call = BlockingCall.current, call.isCancelled {
        throw FileError(number: ECANCELED, call: name, path: path)
      }
      #if DEBUG
        let planned = fault?(name)
        if case .before(let number)? = planned { throw FileError(number: number, call: name, path: path) }
      #endif
      let result = body()
      #if DEBUG
        if case .after(let number)? = planned { throw FileError(number: number, call: name, path: path) }
      #endif
      if result >= 0 { return result }
      if errno != EINTR { throw FileError(number: errno, call: name, path: path) }
    }
  }
}

#if canImport(Glibc)
  /// `renameat2` with `RENAME_NOREPLACE`. Swift's Glibc module does not have it, nor do older systems.
  private func exclusiveRename(
    _ directory: Int32, _ name: String, _ newDirectory: Int32, _ newName: String
  ) -> Int32 {
    typealias Rename =
      @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    guard let symbol = dlsym(nil, "renameat2") else {
      errno = ENOSYS
      return -1
    }
    return unsafeBitCast(symbol, to: Rename.self)(directory, name, newDirectory, newName, 1)
  }
#endif
