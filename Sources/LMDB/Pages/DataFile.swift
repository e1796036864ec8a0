/// The data file of an environment. It is opened before LMDB opens it, to read its identity and size and to
/// check its pages.
final class DataFile: Sendable {
  /// The path that was opened.
  let path: String

  /// The identity of the file.
  let identity: FileIdentity

  private let descriptor: Int32
  private let isReadOnly: Bool

  /// Opens `data.mdb` in a directory, or creates it.
  ///
  /// - Parameter syncsEntry: whether a new file's directory entry is synced to the disk.
  init(
    directory: String, readOnly: Bool, creates: Bool, allowsNetworkFileSystem: Bool, syncsEntry: Bool
  ) throws(LMDBError) {
    let path = directory + "/data.mdb"
    let (descriptor, isNew) = try SystemCalls.open(path, readOnly: readOnly, creates: creates)
    do throws(LMDBError) {
      let status = try SystemCalls.status(of: descriptor, path)
      guard status.isRegular else { throw LMDBError(code: .notAStore, call: "fstat", path: path) }
      if !allowsNetworkFileSystem, try SystemCalls.isOnNetwork(descriptor, path) {
        throw LMDBError(code: .networkFileSystem, call: "fstatfs", path: path)
      }
      if isNew && syncsEntry { try Self.syncEntry(directory) }
      self.identity = status.identity
    } catch {
      SystemCalls.close(descriptor)
      throw error
    }
    self.path = path
    self.descriptor = descriptor
    isReadOnly = readOnly
  }

  deinit {
    SystemCalls.close(descriptor)
  }

  /// The length of the file in bytes, now.
  var bytes: Int { SystemCalls.bytes(of: descriptor) }

  /// Whether the file has some bytes at an offset.
  func has(_ bytes: UnsafeRawBufferPointer, at offset: UInt) throws(LMDBError) -> Bool {
    guard let offset = Int(exactly: offset), offset <= self.bytes - bytes.count,
      let found = try PageFile.read(descriptor, at: offset, count: bytes.count, path)
    else { return false }
    return found.elementsEqual(bytes)
  }

  /// Checks the file before it is mapped. Returns whether it is shorter than its header says although no data
  /// is missing.
  func check() throws(LMDBError) -> Bool {
    if isReadOnly && bytes == 0 {
      throw LMDBError(code: .notAStore, call: "pread", path: path, message: "the data file is empty")
    }
    return try PageCheck.checkRoots(descriptor, path)
  }

  /// Checks the structure of a state that a read transaction holds.
  func checkStructure(transactionID: UInt64, pagesMax: UInt64) throws(LMDBError) {
    try PageCheck.checkStructure(descriptor, path, transactionID: transactionID, pagesMax: pagesMax)
  }

  /// Whether the next open of the directory gets another file, because this one was deleted or another one is
  /// at its path. (fstat, stat)
  ///
  /// False if nothing is at its path and the file still has a name: its directory may have been renamed.
  var isRemoved: Bool {
    get throws(LMDBError) {
      if try SystemCalls.linkCount(of: descriptor, path) == 0 { return true }
      return SystemCalls.identity(at: path).map { $0 != identity } ?? false
    }
  }

  /// Allocates the lock file beside the data file before LMDB maps it. On a full disk, touching a page
  /// without disk space ends the process (SIGBUS).
  ///
  /// Call it before LMDB opens the lock file: closing a descriptor later drops this process's locks. (lmdb.h,
  /// Caveats)
  func allocateLockFile(readersMax: Int) throws(LMDBError) {
    let lockPath = String(path.dropLast("data.mdb".count) + "lock.mdb")
    let opened: Int32
    do throws(LMDBError) {
      opened = try SystemCalls.open(lockPath, readOnly: false, creates: true).descriptor
    } catch {
      // A read-only environment works without a lock file. For a writer, LMDB reports the error.
      return
    }
    defer { SystemCalls.close(opened) }
    // The size that mdb_env_setup_locks computes: 64 bytes for each reader slot, and a header of twice that
    // (MDB_txninfo).
    let bytes = max((readersMax + 2) * 64, SystemCalls.bytes(of: opened))
    try SystemCalls.allocate(opened, bytes: bytes, keepsSize: false, lockPath)
  }

  /// Allocates the two meta pages of an empty file; LMDB writes them when it opens the file. Without this, a
  /// crash could leave a file with one meta page, which looks like a damaged store.
  func allocateMetaPages() throws(LMDBError) {
    guard !isReadOnly, bytes == 0 else { return }
    try SystemCalls.allocate(descriptor, bytes: 2 * SystemCalls.memoryPageBytes, keepsSize: true, path)
  }

  /// Extends the file.
  func extend(to bytes: Int) throws(LMDBError) {
    try SystemCalls.extend(descriptor, to: bytes, path)
  }

  /// Waits until a directory's entries are on the disk: before that, a crash can lose a new file.
  private static func syncEntry(_ directory: String) throws(LMDBError) {
    let descriptor = try SystemCalls.openDirectory(directory)
    defer { SystemCalls.close(descriptor) }
    try SystemCalls.sync(descriptor, directory)
  }
}
