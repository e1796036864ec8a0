import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The file `store.mark` beside the data file: it says that a store was made here, so that writes may have
/// been acknowledged. It is written once, after the first commit is on the disk and before the store is open.
///
/// | mark | data file | opening |
/// |---|---|---|
/// | there | sound | opens it |
/// | there | none, or without bytes | refuses it: the store was lost |
/// | none | sound | opens it and writes the mark: a copy of only the data file, or a crash before the mark |
/// | none | none, without bytes, or only begun | makes a store, if nothing else but the lock file is there |
///
/// What is in the file does not matter, so that a copy of it under another store does no harm.
struct StoreMark {
  static let name = "store.mark"
  private static let text = "A Tributary store was made here. Its data is in data.mdb.\n"

  let directory: String
  let calls: FileCalls
  private var path: String { "\(directory)/\(Self.name)" }
  private var dataPath: String { "\(directory)/data.mdb" }

  init(_ directory: String, calls: FileCalls) {
    self.directory = directory
    self.calls = calls
  }

  var exists: Bool {
    get throws { try SystemEnvironment.fileBytes(path) != nil }
  }

  /// Throws if a store was made here and its data file is gone or empty.
  func checkDataFile() throws {
    let bytes = try SystemEnvironment.fileBytes(dataPath)
    guard bytes == nil || bytes == 0 else { return }
    let state = bytes == nil ? "missing" : "empty"
    throw StoreError(
      .damaged, "a store was made in “\(directory)”, and its data file “data.mdb” is \(state)",
      hint: "put a copy of data.mdb in its place; without one, remove the directory and sync a new store")
  }

  /// Where there is no mark: makes the directory, or checks that it holds a data file, or nothing but what a
  /// crash left while a store was being made, which is removed then.
  ///
  /// To be called with the directory locked by a ``DirectoryLock``, since another process may just be
  /// making the store.
  func prepare(creates: Bool) throws {
    let hint = "give the directory of a store; a new one is made only in an empty directory"
    let isThere = try SystemEnvironment.fileBytes(dataPath) != nil
    if isThere, try !Environment.isUnfinished(directory: directory) { return }
    guard creates else {
      throw StoreError.unseen(ENOENT, in: directory)
    }
    for name in try SystemEnvironment.names(in: directory) where !["lock.mdb", "data.mdb"].contains(name) {
      let lost = isThere ? "has an empty data file, and " : ""
      throw StoreError(.notAStore, "“\(directory)” \(lost)holds other files, such as “\(name)”", hint: hint)
    }
    if isThere { try calls.remove(dataPath) }
  }

  /// Writes the mark, so that it is on the disk, and the directory's own name too.
  func write(isSynced: Bool) throws(FileError) {
    let file = try calls.openOrCreateFile(path)
    try Self.text.utf8Span.span.bytes.withUnsafeBytes { bytes throws(FileError) in
      try calls.write(file, at: 0, bytes, path)
    }
    guard isSynced else { return }
    try calls.sync(file, path)
    try calls.syncDirectory(directory)
    do throws(FileError) {
      try calls.syncDirectory("\(directory)/..")
    } catch {
      // A process that may not read the directory above has not made this one.
      if error.number != EACCES { throw error }
    }
  }
}

/// The files in a store's directory, besides those of assets.
package enum StoreFiles {
  package static let names = ["data.mdb", "lock.mdb", StoreMark.name]
}
