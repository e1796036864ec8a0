#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Makes the operating system's calls for files beside the data file: those of assets, and the mark of a
/// store.
struct FileCalls: Sendable {
  /// Called before each call, with its C name; nil lets it run.
  var fault: (@Sendable (StaticString) -> FileFault?)?
  /// Called after each call that succeeded, with its C name and its path.
  var didCall: (@Sendable (StaticString, String) -> Void)?

  /// Only the user who runs the app may read a store's files and folders, as LMDB makes its own.
  private static let fileMode: mode_t = 0o600
  private static let directoryMode: mode_t = 0o700

  /// What is known of a file.
  struct Status {
    var byteCount: UInt64
    var device: UInt64
    var inode: UInt64
    /// How many names it has.
    var links: Int
    var isRegular: Bool
    /// When it was changed last, in seconds since 1970.
    var modified: Int
  }

  // MARK: Directories

  /// Makes a directory (mkdir).
  ///
  /// - Returns: whether it is new.
  func makeDirectory(_ path: String) throws(FileError) -> Bool {
    do throws(FileError) {
      _ = try call("mkdir", path) { mkdir(path, Self.directoryMode) }
      return true
    } catch {
      if error.number == EEXIST { return false }
      throw error
    }
  }

  /// The names in a directory, in the order of their bytes; nil if there is no such directory (open,
  /// readdir).
  func names(in path: String) throws(FileError) -> [String]? {
    do throws(FileError) {
      return try OpenFile(directory: path).names(path)
    } catch {
      if error.isNoSuchFile { return nil }
      throw error
    }
  }

  /// Syncs the names in a directory to the disk (open, fsync).
  func syncDirectory(_ path: String) throws(FileError) {
    let directory = OpenFile(try call("open", path) { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    try sync(directory, path)
  }

  // MARK: Files

  /// Opens a file for reading; one that is a pipe or a device does not hold us up (open).
  func openFile(_ path: String) throws(FileError) -> OpenFile {
    OpenFile(try call("open", path) { open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) })
  }

  /// Makes a file that is not there, for writing and reading (open).
  func createFile(_ path: String) throws(FileError) -> OpenFile {
    OpenFile(try call("open", path) { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, Self.fileMode) })
  }

  /// Opens a file for writing and reading, and makes it if there is none (open).
  func openOrCreateFile(_ path: String) throws(FileError) -> OpenFile {
    OpenFile(try call("open", path) { open(path, O_RDWR | O_CREAT | O_CLOEXEC, Self.fileMode) })
  }

  /// Locks a file for this file descriptor, until it is closed (flock).
  ///
  /// - Returns: false if another opening has it, in this process or any other.
  func lock(_ file: borrowing OpenFile, _ path: String) throws(FileError) -> Bool {
    let descriptor = file.descriptor
    do throws(FileError) {
      _ = try call("flock", path) { flock(descriptor, LOCK_EX | LOCK_NB) }
      return true
    } catch {
      if error.number == EWOULDBLOCK { return false }
      throw error
    }
  }

  /// What an open file is (fstat).
  func status(of file: borrowing OpenFile, _ path: String) throws(FileError) -> Status {
    let descriptor = file.descriptor
    var raw = stat()
    _ = try call("fstat", path) { fstat(descriptor, &raw) }
    return Self.status(raw)
  }

  /// Whether a directory is at a path, and no link to one (lstat).
  func isDirectory(_ path: String) throws(FileError) -> Bool {
    var raw = stat()
    do throws(FileError) {
      _ = try call("lstat", path) { lstat(path, &raw) }
      return raw.st_mode & S_IFMT == S_IFDIR
    } catch {
      if error.number == ENOENT { return false }
      throw error
    }
  }

  /// What is at a path; nil if nothing is, or something else than a directory is above it (stat).
  func status(of path: String) throws(FileError) -> Status? {
    var raw = stat()
    do throws(FileError) {
      _ = try call("stat", path) { stat(path, &raw) }
      return Self.status(raw)
    } catch {
      if error.number == ENOENT || error.number == ENOTDIR { return nil }
      throw error
    }
  }

  private static func status(_ raw: stat) -> Status {
    Status(
      byteCount: UInt64(clamping: raw.st_size), device: UInt64(truncatingIfNeeded: raw.st_dev),
      inode: UInt64(raw.st_ino), links: Int(clamping: raw.st_nlink),
      isRegular: raw.st_mode & S_IFMT == S_IFREG, modified: raw.modified)
  }

  /// Reads bytes at an offset: fewer than there is room for only at the file's end (pread).
  ///
  /// - Returns: how many.
  func read(
    _ file: borrowing OpenFile, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer, _ path: String
  ) throws(FileError) -> Int {
    let descriptor = file.descriptor
    var done = 0
    while done < buffer.count {
      let start = done
      guard let position = off_t(exactly: offset.addingReportingOverflow(UInt64(start)).partialValue) else {
        throw FileError(number: EINVAL, call: "pread", path: path)
      }
      let got = try call("pread", path) {
        pread(descriptor, buffer.baseAddress! + start, buffer.count - start, position)
      }
      if got == 0 { break }
      done += got
    }
    return done
  }

  /// Writes all bytes at an offset (pwrite).
  func write(
    _ file: borrowing OpenFile, at offset: UInt64, _ bytes: UnsafeRawBufferPointer, _ path: String
  ) throws(FileError) {
    let descriptor = file.descriptor
    var done = 0
    while done < bytes.count {
      let start = done
      guard let position = off_t(exactly: offset.addingReportingOverflow(UInt64(start)).partialValue) else {
        throw FileError(number: EFBIG, call: "pwrite", path: path)
      }
      done += try call("pwrite", path) {
        pwrite(descriptor, bytes.baseAddress! + start, bytes.count - start, position)
      }
    }
  }

  /// Cuts a file to a size (ftruncate).
  func truncate(_ file: borrowing OpenFile, to byteCount: UInt64, _ path: String) throws(FileError) {
    let descriptor = file.descriptor
    guard let size = off_t(exactly: byteCount) else {
      throw FileError(number: EFBIG, call: "ftruncate", path: path)
    }
    _ = try call("ftruncate", path) { ftruncate(descriptor, size) }
  }

  /// Syncs a file's bytes to the disk (fsync).
  func sync(_ file: borrowing OpenFile, _ path: String) throws(FileError) {
    let descriptor = file.descriptor
    _ = try call("fsync", path) { fsync(descriptor) }
  }

  /// Syncs a directory's own name to the disk. A process that may not read the directory above does without.
  func syncName(ofDirectory path: String) throws(FileError) {
    do throws(FileError) {
      try syncDirectory("\(path)/..")
    } catch {
      if error.number != EACCES { throw error }
    }
  }

  /// The beginning of a file, as text.
  func text(of path: String, bytesMax: Int) throws(FileError) -> String {
    let file = try openFile(path)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytesMax, alignment: 1)
    defer { buffer.deallocate() }
    let count = try read(file, at: 0, into: buffer, path)
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  // MARK: Names

  /// Gives a file another name, in the place of what has it (rename).
  func rename(_ path: String, to newPath: String) throws(FileError) {
    _ = try call("rename", newPath) {
      #if canImport(Darwin)
        Darwin.rename(path, newPath)
      #else
        Glibc.rename(path, newPath)
      #endif
    }
  }

  /// Removes a file's name; succeeds if there is none (unlink).
  func remove(_ path: String) throws(FileError) {
    do throws(FileError) {
      _ = try call("unlink", path) { unlink(path) }
    } catch {
      if error.number != ENOENT { throw error }
    }
  }

  /// Makes a call, again if a signal interrupted it.
  private func call<Result: FixedWidthInteger>(
    _ name: StaticString, _ path: String, _ body: () -> Result
  ) throws(FileError) -> Result {
    while true {
      let planned = fault?(name)
      if case .before(let number)? = planned {
        throw FileError(number: number, call: name, path: path)
      }
      let result = body()
      if case .after(let number)? = planned {
        throw FileError(number: number, call: name, path: path)
      }
      if result >= 0 {
        didCall?(name, path)
        return result
      }
      if errno != EINTR { throw FileError(number: errno, call: name, path: path) }
    }
  }
}

extension stat {
  /// When it was changed last, in seconds since 1970.
  fileprivate var modified: Int {
    #if canImport(Darwin)
      Int(st_mtimespec.tv_sec)
    #else
      Int(st_mtim.tv_sec)
    #endif
  }
}
