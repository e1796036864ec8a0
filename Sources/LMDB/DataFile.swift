/// The data file of an environment, opened before LMDB opens it: to know it, to check it, to tell its size.
final class DataFile: Sendable {
  /// Where it was opened.
  let path: String

  /// Which file it is.
  let identity: FileIdentity

  private let descriptor: Int32
  private let isReadOnly: Bool

  /// Opens `data.mdb` in a directory, or creates it there.
  init(directory: String, options: Environment.Options) throws(LMDBError) {
    let path = directory + "/data.mdb"
    let (descriptor, isNew) = try SystemCalls.open(
      path, readOnly: options.readOnly, creates: options.createsFile)
    do throws(LMDBError) {
      let status = try SystemCalls.status(of: descriptor, path)
      guard status.isRegular else { throw LMDBError(code: .notAStore, call: "fstat", path: path) }
      if !options.allowsNetworkFileSystem, try SystemCalls.isOnNetwork(descriptor, path) {
        throw LMDBError(code: .networkFileSystem, call: "fstatfs", path: path)
      }
      if isNew && options.sync != .none { try Self.syncEntry(directory) }
      self.identity = status.identity
    } catch {
      SystemCalls.close(descriptor)
      throw error
    }
    self.path = path
    self.descriptor = descriptor
    self.isReadOnly = options.readOnly
  }

  deinit {
    SystemCalls.close(descriptor)
  }

  /// How long the file is now, in bytes.
  var bytes: Int { SystemCalls.bytes(of: descriptor) }

  /// Checks the file before it is mapped, and says whether it is shorter than its header says, although nothing
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

  /// Whether nobody who opens the directory again gets it: it has lost its name, or another file is at its path. (fstat, stat)
  ///
  /// Where nothing is at its path, its directory may have been renamed: it is still there.
  var isRemoved: Bool {
    get throws(LMDBError) {
      if try SystemCalls.linkCount(of: descriptor, path) == 0 { return true }
      return SystemCalls.identity(at: path).map { $0 != identity } ?? false
    }
  }

  /// Takes space for the lock file beside the data file, before LMDB maps it: a page of it that cannot be had on a
  /// full disk would end the process when it is touched (SIGBUS).
  ///
  /// To be called before LMDB opens it: closing it later would drop this process's locks. (lmdb.h, Caveats)
  func allocateLockFile(readersMax: Int) throws(LMDBError) {
    let lockPath = String(path.dropLast("data.mdb".count) + "lock.mdb")
    let opened: Int32
    do throws(LMDBError) {
      opened = try SystemCalls.open(lockPath, readOnly: false, creates: true).descriptor
    } catch {
      // A reader does without where it may not write; a writer hears it from LMDB.
      return
    }
    defer { SystemCalls.close(opened) }
    // As mdb_env_setup_locks counts: a slot of 64 bytes a reader, after two more of the same size (MDB_txninfo).
    let bytes = max((readersMax + 2) * 64, SystemCalls.bytes(of: opened))
    try SystemCalls.allocate(opened, bytes: bytes, keepsSize: false, lockPath)
  }

  /// Takes space in an empty file for the two meta pages, which LMDB writes when it opens it: of one alone nothing
  /// could tell that no more was ever there.
  func allocateMetaPages() throws(LMDBError) {
    guard !isReadOnly, bytes == 0 else { return }
    try SystemCalls.allocate(descriptor, bytes: 2 * SystemCalls.memoryPageBytes, keepsSize: true, path)
  }

  /// Makes the file longer.
  func extend(to bytes: Int) throws(LMDBError) {
    try SystemCalls.extend(descriptor, to: bytes, path)
  }

  /// Waits until the `data.mdb` of a directory, and its entry there, are on the disk.
  static func sync(directory: String) throws(LMDBError) {
    let path = directory + "/data.mdb"
    let descriptor = try SystemCalls.open(path, readOnly: true, creates: false).descriptor
    defer { SystemCalls.close(descriptor) }
    try SystemCalls.sync(descriptor, path)
    try syncEntry(directory)
  }

  /// Waits until the entries of a directory are on the disk: a new file is not safe before.
  private static func syncEntry(_ directory: String) throws(LMDBError) {
    let descriptor = try SystemCalls.openDirectory(directory)
    defer { SystemCalls.close(descriptor) }
    try SystemCalls.sync(descriptor, directory)
  }
}
