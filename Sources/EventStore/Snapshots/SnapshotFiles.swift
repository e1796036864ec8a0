import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The snapshots that a store keeps beside its data.
///
/// | path | what |
/// |---|---|
/// | `snapshots/HASH/manifest` | what a snapshot has, named by the hash of its content: `SnapshotManifest` |
/// | `snapshots/HASH/N` | its part N, from 0 |
/// | `snapshots/BITS.new` | one that is being written |
///
/// A snapshot is there once its directory has its name: its files are synced before.
struct SnapshotFiles: Sendable {
  /// The directory of the store.
  let store: String
  let isSynced: Bool
  let calls: FileCalls
  let makeRandom: @Sendable () -> UInt64

  var root: String { "\(store)/snapshots" }

  private func directory(of content: ContentHash) -> String { "\(root)/\(content)" }

  // MARK: Reading

  /// - Throws: ``StoreError`` `damaged` if it is not there, or not whole.
  func manifest(of content: ContentHash) throws -> SnapshotManifest {
    let path = "\(directory(of: content))/manifest"
    let bytes = try read(path, bytesMax: SnapshotManifest.bytesMax)
    do {
      let manifest = try SnapshotManifest.read(bytes.span.bytes)
      guard manifest.content == content else {
        throw StoreError(.damaged, "“\(path)” is of another snapshot", hint: Self.hint)
      }
      return manifest
    } catch let error as FormatError {
      throw StoreError(
        .damaged, "“\(path)” cannot be read: \(error.text)", hint: Self.hint, underlying: error)
    }
  }

  /// A part of a snapshot as it is stored.
  func part(_ index: Int, of manifest: SnapshotManifest) throws -> [UInt8] {
    try read("\(directory(of: manifest.content))/\(index)", bytesMax: manifest.parts[index].storedBytes)
  }

  private func read(_ path: String, bytesMax: Int) throws -> [UInt8] {
    guard let status = try calls.status(of: path), status.isRegular else {
      throw StoreError(.damaged, "“\(path)” is not there", hint: Self.hint)
    }
    guard status.byteCount <= UInt64(bytesMax) else {
      throw StoreError(
        .damaged, "“\(path)” has \(status.byteCount) bytes, more than \(bytesMax)", hint: Self.hint)
    }
    let file = try calls.openFile(path)
    var bytes = [UInt8](repeating: 0, count: Int(status.byteCount))
    var done = 0
    while done < bytes.count {
      let count = try bytes.withUnsafeMutableBytes {
        try calls.read(
          file, at: UInt64(done), into: UnsafeMutableRawBufferPointer(rebasing: $0[done...]), path)
      }
      if count == 0 { break }
      done += count
    }
    bytes.removeLast(bytes.count - done)
    return bytes
  }

  private static let hint =
    "the records of its zone begin with that snapshot: put the directory back from a backup, or let a new store read "
    + "the zone from its remote"

  /// The snapshots that are there.
  func contents() throws -> [ContentHash] {
    try (calls.names(in: root) ?? []).compactMap { ContentHash($0) }
  }

  // MARK: Writing

  /// Writes a snapshot.
  ///
  /// - Parameter write: gets a function that keeps a part, and returns the manifest.
  func make(
    _ write: (_ keep: @escaping (Int, [UInt8]) throws -> Void) throws -> SnapshotManifest
  ) throws -> SnapshotManifest {
    let incoming = try begin()
    do {
      let manifest = try write { index, bytes in try self.write(bytes, index, to: incoming) }
      try finish(manifest, incoming)
      return manifest
    } catch {
      discard(incoming)
      throw error
    }
  }

  /// Makes a directory for a snapshot that is being written.
  func begin() throws -> String {
    if try calls.makeDirectory(root), isSynced { try calls.syncName(ofDirectory: root) }
    let incoming = "\(root)/\(random128(makeRandom)).new"
    _ = try calls.makeDirectory(incoming)
    return incoming
  }

  func write(_ part: [UInt8], _ index: Int, to incoming: String) throws {
    try write(part, "\(incoming)/\(index)")
  }

  /// Gives a snapshot its name, once all its parts are written.
  func finish(_ manifest: SnapshotManifest, _ incoming: String) throws {
    try write(manifest.encode(), "\(incoming)/manifest")
    if isSynced { try calls.syncDirectory(incoming) }
    let target = directory(of: manifest.content)
    // The same content is the same bytes; a damaged copy is replaced.
    try removeDirectory(target)
    try calls.rename(incoming, to: target)
    if isSynced { try calls.syncDirectory(root) }
  }

  func discard(_ incoming: String) { try? removeDirectory(incoming) }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    let file = try calls.createFile(path)
    try bytes.withUnsafeBytes { try calls.write(file, at: 0, $0, path) }
    if isSynced { try calls.sync(file, path) }
  }

  /// Removes the snapshots that nothing needs, and what is left of unfinished ones.
  func remove(allBut needed: Set<ContentHash>) throws {
    for name in try calls.names(in: root) ?? [] {
      if let content = ContentHash(name), needed.contains(content) { continue }
      try removeDirectory("\(root)/\(name)")
    }
  }

  private func removeDirectory(_ path: String) throws {
    guard let names = try calls.names(in: path) else { return }
    // Without its manifest it is none.
    for name in names.sorted(by: >) { try calls.remove("\(path)/\(name)") }
    rmdir(path)
  }
}
