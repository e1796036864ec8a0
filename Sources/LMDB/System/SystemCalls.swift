#if canImport(Glibc)
  import CLMDB  // for fallocate and fstatfs alone
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Makes the operating system's calls that the wrapper needs beside LMDB's own.
enum SystemCalls {
  /// Opens a file, not for child programs (open).
  static func open(
    _ path: String, readOnly: Bool, creates: Bool
  ) throws(LMDBError) -> (descriptor: Int32, isNew: Bool) {
    // Not blocking, so that a pipe of that name does not hold us up; it means nothing for files.
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

  /// Opens a directory, so that it can be synced (open).
  static func openDirectory(_ path: String) throws(LMDBError) -> Int32 {
    let descriptor = retrying { openFile(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    if descriptor < 0 { throw failure("open", path) }
    return descriptor
  }

  /// Keeps a file descriptor from child programs (fcntl).
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

  /// What is known of an open file.
  struct Status {
    var identity: FileIdentity
    var bytes: Int
    var isRegular: Bool
  }

  /// Gives a file's identity and size (fstat).
  static func status(of descriptor: Int32, _ path: String) throws(LMDBError) -> Status {
    var raw = stat()
    if fstat(descriptor, &raw) != 0 { throw failure("fstat", path) }
    return Status(
      identity: FileIdentity(device: UInt64(truncatingIfNeeded: raw.st_dev), inode: UInt64(raw.st_ino)),
      bytes: Int(raw.st_size), isRegular: raw.st_mode & S_IFMT == S_IFREG)
  }

  /// Gives an open file's size in bytes, or 0 where it cannot be told (fstat).
  static func bytes(of descriptor: Int32) -> Int {
    var raw = stat()
    return fstat(descriptor, &raw) == 0 ? Int(raw.st_size) : 0
  }

  /// Gives how many names an open file has (fstat).
  static func linkCount(of descriptor: Int32, _ path: String) throws(LMDBError) -> Int {
    var raw = stat()
    if fstat(descriptor, &raw) != 0 { throw failure("fstat", path) }
    return Int(clamping: raw.st_nlink)
  }

  /// Which file a path leads to; nil if that cannot be told (stat).
  static func identity(at path: String) -> FileIdentity? {
    var raw = stat()
    guard stat(path, &raw) == 0 else { return nil }
    return FileIdentity(device: UInt64(truncatingIfNeeded: raw.st_dev), inode: UInt64(raw.st_ino))
  }

  /// Reads up to the buffer's size at a place in a file, fewer bytes only at its end (pread).
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

  /// Makes a file longer, without taking space for it (ftruncate).
  static func extend(_ descriptor: Int32, to bytes: Int, _ path: String) throws(LMDBError) {
    if retrying({ ftruncate(descriptor, off_t(bytes)) }) != 0 { throw failure("ftruncate", path) }
  }

  /// Takes space for a file's first bytes, which stay as they are, and unless it keeps its size makes it as long at
  /// least; where a file system cannot, it does nothing (fallocate).
  static func allocate(
    _ descriptor: Int32, bytes: Int, keepsSize: Bool, _ path: String
  ) throws(LMDBError) {
    #if canImport(Darwin)
      // There is no such call: a hole is filled when it is touched.
      if !keepsSize, Self.bytes(of: descriptor) < bytes { try extend(descriptor, to: bytes, path) }
    #else
      // Not posix_fallocate, which writes where the file system cannot: others may be writing there.
      let mode: Int32 = keepsSize ? 1 : 0  // FALLOC_FL_KEEP_SIZE
      if retrying({ fallocate(descriptor, mode, 0, off_t(bytes)) }) == 0 { return }
      if errno != EOPNOTSUPP && errno != ENOSYS { throw failure("fallocate", path) }
    #endif
  }

  /// Waits until a file or directory is on the disk (fsync).
  static func sync(_ descriptor: Int32, _ path: String) throws(LMDBError) {
    if retrying({ fsync(descriptor) }) != 0 { throw failure("fsync", path) }
  }

  /// Says whether an open file lies on a network file system (fstatfs).
  static func isOnNetwork(_ descriptor: Int32, _ path: String) throws(LMDBError) -> Bool {
    var raw = statfs()
    if fstatfs(descriptor, &raw) != 0 { throw failure("fstatfs", path) }
    #if canImport(Darwin)
      return raw.f_flags & UInt32(MNT_LOCAL) == 0
    #else
      return FileSystemKind(magic: UInt32(truncatingIfNeeded: raw.f_type)).isNetwork
    #endif
  }

  /// Says whether so much address space can be reserved at once (mmap).
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

  /// Writes to the standard error at once.
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
