import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The file `store.mark` beside the data file: it says that a store was made here, so that writes may have
/// been acknowledged, and where: its ``StorePlace``. It is made after the first commit is on the disk and before the
/// store is open, and replaced by each opening for writing that finds another place or state.
///
/// | mark | data file | opening |
/// |---|---|---|
/// | there | sound | opens it |
/// | there | none, or without bytes | refuses it: the store was lost |
/// | none | sound | opens it and writes the mark: a copy of only the data file, or a crash before the mark |
/// | none | none, without bytes, or only begun | makes a store, if nothing else but the lock file is there |
///
/// A mark without a place, as former versions wrote it, says nothing of copies.
struct StoreMark {
  static let name = "store.mark"
  /// The mark that takes the place of another, until it has its name.
  static let newName = "store.mark.new"
  private static let bytesMax = 4096
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

  /// Where the data file is now, with the number of its last commit.
  func place(commit: UInt64, machineID: String?) throws(FileError) -> StorePlace {
    try StorePlace(ofFile: dataPath, commit: commit, machineID: machineID)
  }

  /// The place that the mark notes; nil if it notes none.
  func noted() throws(FileError) -> StorePlace? {
    let lines = try calls.text(of: path, bytesMax: Self.bytesMax).split(separator: "\n")
    return lines.lazy.compactMap { StorePlace(line: $0) }.first
  }

  /// Makes the mark, so that it is on the disk, and the directory's own name too.
  func write(_ place: StorePlace, isSynced: Bool) throws(FileError) {
    try write(place, to: path, isSynced: isSynced)
    guard isSynced else { return }
    try calls.syncDirectory(directory)
    // A process that may not read the directory above has not made this one.
    try calls.syncName(ofDirectory: directory)
  }

  /// Replaces the mark. A crash leaves the one or the other.
  func replace(by place: StorePlace, isSynced: Bool) throws(FileError) {
    let newPath = "\(directory)/\(Self.newName)"
    try calls.remove(newPath)
    try write(place, to: newPath, isSynced: isSynced)
    try calls.rename(newPath, to: path)
  }

  private func write(_ place: StorePlace, to path: String, isSynced: Bool) throws(FileError) {
    let file = try calls.openOrCreateFile(path)
    try "\(Self.text)\(place.line)\n".utf8Span.span.bytes.withUnsafeBytes { bytes throws(FileError) in
      try calls.write(file, at: 0, bytes, path)
    }
    if isSynced { try calls.sync(file, path) }
  }
}

/// The files in a store's directory, besides those of assets.
package enum StoreFiles {
  package static let names = ["data.mdb", "lock.mdb", StoreMark.name, StoreMark.newName]
}
