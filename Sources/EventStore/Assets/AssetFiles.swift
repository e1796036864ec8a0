import OperationFormat
import Synchronization

/// The files of a store's assets, in the folder `assets` beside the data file.
///
/// | path | what |
/// |---|---|
/// | `ab/abcd…` | an asset, whole, named by the 64 digits of its hash, in a folder named by the first two |
/// | `incoming/…` | what is being written, under 128 random bits, locked by who writes it |
/// | `partial/abcd…` | the beginning of an asset that is being downloaded, locked by who does |
///
/// An asset's file gets its name once it is whole and its bytes are on the disk: so it is whole, or not
/// there. File and folder are synced in both durabilities: a power cut keeps nearly every commit of a
/// `consistent` store, so what a commit names must not be younger than the commit. The folders are made when
/// they are needed first.
final class AssetFiles: Sendable {
  /// The largest asset, 1 TiB: what lists its parts at a remote stays under 9 MiB.
  static let byteCountMax: UInt64 = 1 << 40
  /// Files are read, written and hashed in pieces of so many bytes: no asset is ever whole in memory.
  static let pieceBytes = 256 << 10

  /// The folder `assets`.
  let root: String
  private let store: String
  /// Whether files and folders are synced: always, but in tests that do without any sync.
  let isSynced: Bool
  let calls: FileCalls
  private let makeRandom: @Sendable () -> UInt64
  /// Folders whose names are known to last.
  private let lasting = Mutex<Set<String>>([])

  init(
    directory: String, isSynced: Bool, calls: FileCalls, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    store = directory
    root = directory + "/assets"
    self.isSynced = isSynced
    self.calls = calls
    self.makeRandom = makeRandom
  }

  // MARK: Paths

  func folder(of hash: ContentHash) -> String { "\(root)/\(hash.description.prefix(2))" }

  func path(of hash: ContentHash) -> String { "\(folder(of: hash))/\(hash)" }

  var incomingFolder: String { root + "/incoming" }

  var partialFolder: String { root + "/partial" }

  /// Whether an asset's file is there, with as many bytes as it must have.
  func isHere(_ asset: AssetReference) throws(FileError) -> Bool {
    guard let status = try calls.status(of: path(of: asset.hash)) else { return false }
    return status.isRegular && status.byteCount == asset.byteCount
  }

  // MARK: Writing

  /// Begins a new file, for an asset of which nothing is known yet.
  func begin() throws(FileError) -> IncomingAsset {
    try makeFolder(incomingFolder)
    while true {
      let name = hexadecimal(makeRandom()) + hexadecimal(makeRandom())
      let path = "\(incomingFolder)/\(name)"
      let file = try calls.createFile(path)
      // A sweep may have come between: then the file has lost its name, or is about to.
      if try calls.lock(file, path), try calls.status(of: file, path).links > 0 {
        return IncomingAsset(self, file, path)
      }
    }
  }

  /// Gives a whole and synced file its asset's name.
  ///
  /// What has the name already is replaced: it is the same, or it is damaged.
  func publish(_ path: String, as hash: ContentHash) throws(FileError) {
    let folder = folder(of: hash)
    try makeFolder(folder)
    try calls.rename(path, to: self.path(of: hash))
    if isSynced { try calls.syncDirectory(folder) }
  }

  /// Makes a folder of assets, and the one above it. Its name is on the disk then, also if another process
  /// made it.
  func makeFolder(_ path: String) throws(FileError) {
    for (folder, parent) in [(root, store), (path, root)] {
      if lasting.withLock({ $0.contains(folder) }) { continue }
      _ = try calls.makeDirectory(folder)
      if isSynced { try calls.syncDirectory(parent) }
      _ = lasting.withLock { $0.insert(folder) }
    }
  }

  // MARK: Reading

  /// Hashes what a file has, piece by piece.
  ///
  /// - Parameter progress: called after each piece with its bytes; what it throws ends the work.
  func hash(
    _ file: borrowing OpenFile, _ path: String, progress: (Int) throws -> Void = { _ in }
  ) throws -> AssetReference {
    var hasher = ContentHasher()
    var offset: UInt64 = 0
    var buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
    while true {
      let at = offset
      let count = try buffer.withUnsafeMutableBytes { try calls.read(file, at: at, into: $0, path) }
      if count == 0 { return AssetReference(hash: hasher.finish(), byteCount: offset) }
      hasher.update(buffer.span.bytes.extracting(..<count))
      offset += UInt64(count)
      try progress(count)
    }
  }

  // MARK: Leftovers

  /// Removes what writers have left in `incoming` that are gone: their locks went with them.
  func sweepIncoming() throws(FileError) {
    for name in try calls.names(in: incomingFolder) ?? [] {
      try removeUnlessLocked("\(incomingFolder)/\(name)")
    }
  }

  /// Removes a file unless its lock is held.
  @discardableResult
  func removeUnlessLocked(_ path: String) throws(FileError) -> Bool {
    do throws(FileError) {
      let file = try calls.openFile(path)
      guard try calls.lock(file, path) else { return false }
      try calls.remove(path)
      return true
    } catch {
      // Its writer has removed or published it.
      if error.isNoSuchFile { return false }
      throw error
    }
  }
}

private func hexadecimal(_ bits: UInt64) -> String {
  let digits = String(bits, radix: 16)
  return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}
