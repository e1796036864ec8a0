#if canImport(Glibc)
  import CLMDB  // only for fallocate and fstatfs
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The calls to the operating system that this wrapper needs besides LMDB's.
enum SystemCalls {
  /// Opens a file; child programs do not inherit it (open).
  static func open(
    _ path: String, readOnly: Bool, creates: Bool
  ) throws(LMDBError) -> (descriptor: Int32, isNew: Bool) {
    // O_NONBLOCK: opening a pipe of that name must not wait. It has no effect on files.
    let flags = (readOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK
    while true {
      let descriptor = retrying { openFile(path, flags) }
      if descriptor >= 0 { return (descriptor, false) }
      guard errno == ENOENT, creates, !readOnly else { throw failure("open", path) }
      let created = retrying { openFile(path, flags | O_CREAT | O_EXCL) }
      if created >= 0 { return (created, true) }
      if errno != EEXIST { throw failure("open", path) }
    }
  }

  /// Opens a directory, to sync it (open).
  static func openDirectory(_ path: String) throws(LMDBError) -> Int32 {
    let descriptor = retrying { openFile(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    if descriptor < 0 { throw failure("open", path) }
    return descriptor
  }

  /// Keeps child programs from inheriting a file descriptor (fcntl).
  static func setCloseOnExec(_ descriptor: Int32, _ path: String) throws(LMDBError) {
    let flags = fcntl(descriptor, F_GETFD)
    if flags < 0 || fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) < 0 { throw failure("fcntl", path) }
  }

  /// Closes a file descriptor (close).
  static func close(_ descriptor: Int32) {
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #else
      _ = Glibc.close(descriptor)
    #endif
  }

  /// The status of an open file.
  struct Status {
    var identity: FileIdentity
    var bytes: Int
    var isRegular: Bool
  }

  /// Returns a file's identity and size (fstat).
  static func status(of descriptor: Int32, _ path: String) throws(LMDBError) -> Status {
    var raw = stat()
    if fstat(descriptor, &raw) != 0 { throw failure("fstat", path) }
    return Status(
      identity: FileIdentity(device: UInt64(truncatingIfNeeded: raw.st_dev), inode: UInt64(raw.st_ino)),
      bytes: Int(raw.st_size), isRegular: raw.st_mode & S_IFMT == S_IFREG)
  }

  /// Returns an open file's size in bytes, or 0 if it cannot be read (fstat).
  static func bytes(of descriptor: Int32) -> Int {
    var raw = stat()
    return fstat(descriptor, &raw) == 0 ? Int(raw.st_size) : 0
  }

  /// Returns how many names an open file has (fstat).
  static func linkCount(of descriptor: Int32, _ path: String) throws(LMDBError) -> Int {
    var raw = stat()
    if fstat(descriptor, &raw) != 0 { throw failure("fstat", path) }
    return Int(clamping: raw.st_nlink)
  }

  /// The identity of the file at a path; nil if it cannot be read (stat).
  static func identity(at path: String) -> FileIdentity? {
    var raw = stat()
    guard stat(path, &raw) == 0 else { return nil }
    return FileIdentity(device: UInt64(truncatingIfNeeded: raw.st_dev), inode: UInt64(raw.st_ino))
  }

  /// Reads at an offset of a file until the buffer is full or the file ends (pread).
  static func read(
    _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer, _ path: String
  ) throws(LMDBError) -> Int {
    var count = 0
    while count < buffer.count {
      let got = pread(descriptor, buffer.baseAddress! + count, buffer.count - count, off_t(offset + count))
      if got < 0 && errno == EINTR { continue }
      if got < 0 { throw failure("pread", path) }
      if got == 0 { break }
      count += got
    }
    return count
  }

  /// Extends a file without taking disk space (ftruncate).
  static func extend(_ descriptor: Int32, to bytes: Int, _ path: String) throws(LMDBError) {
    if retrying({ ftruncate(descriptor, off_t(bytes)) }) != 0 { throw failure("ftruncate", path) }
  }

  /// Takes disk space for the first bytes of a file, and keeps its contents. Unless `keepsSize`, it also
  /// makes the file at least that long. Does nothing if the file system does not support it (fallocate).
  static func allocate(
    _ descriptor: Int32, bytes: Int, keepsSize: Bool, _ path: String
  ) throws(LMDBError) {
    #if canImport(Darwin)
      // This system has no such call: the file takes space when it is written.
      if !keepsSize, Self.bytes(of: descriptor) < bytes { try extend(descriptor, to: bytes, path) }
    #else
      // Not posix_fallocate: if the file system lacks support, that writes zeros, and others may be writing
      // at the same place.
      let mode: Int32 = keepsSize ? 1 : 0  // FALLOC_FL_KEEP_SIZE
      if retrying({ fallocate(descriptor, mode, 0, off_t(bytes)) }) == 0 { return }
      if errno != EOPNOTSUPP && errno != ENOSYS { throw failure("fallocate", path) }
    #endif
  }

  /// Waits until a file or directory is on the disk (fsync).
  static func sync(_ descriptor: Int32, _ path: String) throws(LMDBError) {
    if retrying({ fsync(descriptor) }) != 0 { throw failure("fsync", path) }
  }

  /// Returns whether an open file is on a network file system (fstatfs).
  static func isOnNetwork(_ descriptor: Int32, _ path: String) throws(LMDBError) -> Bool {
    var raw = statfs()
    if fstatfs(descriptor, &raw) != 0 { throw failure("fstatfs", path) }
    #if canImport(Darwin)
      return raw.f_flags & UInt32(MNT_LOCAL) == 0
    #else
      return FileSystemKind(magic: UInt32(truncatingIfNeeded: raw.f_type)).isNetwork
    #endif
  }

  /// Returns whether this much address space can be reserved at once (mmap).
  static func canReserve(_ bytes: Int) -> Bool {
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    guard let address = mmap(nil, bytes, PROT_NONE, flags, -1, 0), address != MAP_FAILED else { return false }
    munmap(address, bytes)
    return true
  }

  /// The size of the operating system's memory pages in bytes.
  static let memoryPageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Writes to standard error immediately.
  static func printError(_ message: String) {
    var message = message
    message.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
  }

  private static func openFile(_ path: String, _ flags: Int32) -> Int32 {
    #if canImport(Darwin)
      Darwin.open(path, flags, 0o600)
    #else
      Glibc.open(path, flags, 0o600)
    #endif
  }

  private static func retrying(_ call: () -> Int32) -> Int32 {
    while true {
      let result = call()
      if result >= 0 || errno != EINTR { return result }
    }
  }

  private static func failure(_ call: String, _ path: String) -> LMDBError {
    LMDBError(code: LMDBError.Code(rawValue: errno), call: call, path: path)
  }
}
