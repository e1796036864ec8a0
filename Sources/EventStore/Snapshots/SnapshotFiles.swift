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
/// | `snapshots/HASH/N.damaged` | what was found in place of part N: the next round of sync fetches that again |
/// | `snapshots/HASH/unneeded` | says that nothing needs it any more, since this file was made |
/// | `snapshots/BITS.new` | one that is being written, locked (`flock`) by its writer |
/// | `snapshots/HASH.new` | one that is being fetched, locked by who does: who fetches it later keeps the parts that are there |
/// | `snapshots/BITS.old` | a damaged one that was replaced |
///
/// A snapshot is there once its directory has its name: its files are synced before.
struct SnapshotFiles: Sendable {
  /// The directory of the store.
  let store: String
  let isSynced: Bool
  let calls: FileCalls
  let makeRandom: @Sendable () -> UInt64
  /// Called where a file turns out to be damaged or gone, after a part with other bytes was set aside; nil if nothing here may
  /// change.
  var didFindDamage: (@Sendable () -> Void)?

  var root: String { "\(store)/snapshots" }

  private func directory(of content: ContentHash) -> String { "\(root)/\(content)" }

  // MARK: Reading

  /// - Throws: ``StoreError`` `damaged` if it is not there, or not whole.
  func manifest(of content: ContentHash) throws -> SnapshotManifest {
    let path = "\(directory(of: content))/manifest"
    return try notingDamage {
      do {
        let manifest = try readManifest(path)
        guard manifest.content == content else { throw Self.damaged(path, "is of another snapshot") }
        return manifest
      } catch let error as FormatError {
        throw Self.damaged(path, "cannot be read: \(error.text)", error)
      }
    }
  }

  private func readManifest(_ path: String) throws -> SnapshotManifest {
    let bytes = try read(path, bytesMax: SnapshotManifest.bytesMax)
    return try SnapshotManifest.read(bytes.span.bytes)
  }

  /// A part of a snapshot as it is stored.
  ///
  /// - Throws: ``StoreError`` `damaged` if it is not there, or has other bytes.
  func part(_ index: Int, of manifest: SnapshotManifest) throws -> [UInt8] {
    let (path, part) = (path(of: index, manifest), manifest.parts[index])
    return try notingDamage {
      // Another process may have set it aside, or the user has removed it.
      let stored = try read(path, bytesMax: part.storedBytes)
      if part.isStored(stored) { return stored }
      // Another process may have done so at the same time: the part is damaged all the same.
      if didFindDamage != nil { try? calls.rename(path, to: "\(path).damaged") }
      throw Self.damaged(path, "has other bytes than were written there")
    }
  }

  private func notingDamage<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as StoreError where error.code == .damaged {
      didFindDamage?()
      throw error
    }
  }

  private func path(of index: Int, _ manifest: SnapshotManifest) -> String {
    "\(directory(of: manifest.content))/\(index)"
  }

  private func read(_ path: String, bytesMax: Int) throws -> [UInt8] {
    guard let status = try calls.status(of: path), status.isRegular else {
      throw Self.damaged(path, "is not there")
    }
    guard status.byteCount <= UInt64(bytesMax) else {
      throw Self.damaged(path, "has \(status.byteCount) bytes, more than \(bytesMax)")
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

  private static func damaged(_ path: String, _ what: String, _ error: FormatError? = nil) -> StoreError {
    StoreError(.damaged, "“\(path)” \(what)", hint: hint, underlying: error)
  }

  private static let hint =
    "the records of its zone begin with that snapshot, and are still there. Remove that file, if it is there: the next sync "
    + "fetches it again, if the remote has that snapshot. Else `replay retire STORE`, without limits, lets the zone begin with "
    + "a new one of its records as they are. If these are being folded again, neither works without the snapshot: put the "
    + "directory back from a backup, or let a new store read the zone from its remote"

  /// The snapshots that are there.
  func contents() throws -> [ContentHash] {
    try (calls.names(in: root) ?? []).compactMap { ContentHash($0) }
  }

  // MARK: Writing

  /// Writes a snapshot that a closure makes.
  ///
  /// - Parameter write: gets a function that keeps a part, and returns the manifest.
  /// - Returns: whether it was not there before.
  func make(
    _ write: (_ keep: @escaping (Int, [UInt8]) throws -> Void) throws -> SnapshotManifest
  ) throws -> (manifest: SnapshotManifest, isNew: Bool) {
    let (incoming, lock) = try makeIncoming()
    defer { extendLifetime(lock) }
    do {
      let manifest = try write { index, bytes in try self.write(bytes, "\(incoming)/\(index)") }
      return (manifest, try finish(manifest, incoming))
    } catch {
      try? removeDirectory(incoming)
      throw error
    }
  }

  /// A new directory to write a snapshot in, with its lock; nil where the file system has none.
  private func makeIncoming() throws -> (path: String, lock: DirectoryLock?) {
    while true {
      let path = "\(root)/\(hexadecimal(makeRandom)).new"
      try makeDirectory(path)
      let lock = try? DirectoryLock(path, isRequired: false)
      // Before it was locked, another opening may have taken it for one that was left.
      if try calls.status(of: path) != nil { return (path, lock) }
    }
  }

  /// Keeps a snapshot of another store, or puts back what is damaged of one. If it is cut short, the next call keeps the parts
  /// that are there. While another call fetches the same one, in this process or another, each fetches all of it.
  ///
  /// - Parameter fetch: gives a part as it is stored.
  func keep(_ manifest: SnapshotManifest, fetch: (Int) async throws -> [UInt8]) async throws {
    if try isReused(manifest) { return }
    let shared = "\(directory(of: manifest.content)).new"
    try makeDirectory(shared)
    if let lock = DirectoryLock(ifFree: shared), lock.isOf(shared) {
      defer { extendLifetime(lock) }
      return try await fill(shared, with: manifest, fetch: fetch)
    }
    let (own, lock) = try makeIncoming()
    defer { extendLifetime(lock) }
    do {
      try await fill(own, with: manifest, fetch: fetch)
    } catch {
      try? removeDirectory(own)
      throw error
    }
  }

  private func fill(
    _ incoming: String, with manifest: SnapshotManifest, fetch: (Int) async throws -> [UInt8]
  ) async throws {
    var hasher = ContentHasher()
    for (index, part) in manifest.parts.enumerated() {
      let path = "\(incoming)/\(index)"
      let known = try? read(path, bytesMax: part.storedBytes)
      if let known, let content = try? part.unpack(known.span.bytes) {
        hasher.update(content.span.bytes)
        continue
      }
      // Of a damaged one most parts are whole.
      let here = try? read(self.path(of: index, manifest), bytesMax: part.storedBytes)
      let stored = if let here, part.isStored(here) { here } else { try await fetch(index) }
      let content = try part.unpack(stored.span.bytes)
      hasher.update(content.span.bytes)
      try calls.remove(path)
      try write(stored, path)
    }
    // The name of another snapshot must not stand for it.
    guard hasher.finish() == manifest.content else {
      try removeDirectory(incoming)
      throw StoreError(
        .damaged, "a snapshot of zone “\(manifest.zone)” has another content than it says",
        hint: "the log is read instead")
    }
    try calls.remove("\(incoming)/manifest")
    _ = try finish(manifest, incoming)
  }

  private func makeDirectory(_ path: String) throws {
    if try calls.makeDirectory(root), isSynced { try calls.syncName(ofDirectory: root) }
    _ = try calls.makeDirectory(path)
  }

  /// Gives a snapshot its name, once all its parts are written. One that is there and whole stays: a zone may begin with it.
  ///
  /// - Returns: whether it was not there before.
  private func finish(_ manifest: SnapshotManifest, _ incoming: String) throws -> Bool {
    try write(manifest.encode(), "\(incoming)/manifest")
    if isSynced { try calls.syncDirectory(incoming) }
    while try !isReused(manifest) {
      if try replace(manifest, incoming) { return true }
    }
    try removeDirectory(incoming)
    return false
  }

  /// Gives a snapshot its name, in place of a damaged one if there is one.
  ///
  /// - Returns: false if another has that name meanwhile.
  private func replace(_ manifest: SnapshotManifest, _ incoming: String) throws -> Bool {
    let target = directory(of: manifest.content)
    guard try calls.status(of: target) != nil else { return try giveName(manifest, incoming) }
    // Only who has it locked sets it aside: else one that has just replaced it could be taken for it.
    let lock = try? DirectoryLock(target, isRequired: false)
    defer { extendLifetime(lock) }
    if let lock, try !lock.isOf(target) || isReused(manifest) { return false }
    // If the process ends between these names, the next opening gives the new one its name.
    let old = "\(root)/\(hexadecimal(makeRandom)).old"
    do throws(FileError) {
      try calls.rename(target, to: old)
    } catch {
      if error.isNoSuchFile { return false }
      throw error
    }
    let isNamed = try giveName(manifest, incoming)
    try removeDirectory(old)
    return isNamed
  }

  /// - Returns: false if the name is taken.
  private func giveName(_ manifest: SnapshotManifest, _ incoming: String) throws -> Bool {
    do throws(FileError) {
      try calls.rename(incoming, to: directory(of: manifest.content))
    } catch {
      if error.number == ENOTEMPTY || error.number == EEXIST { return false }
      throw error
    }
    if isSynced { try calls.syncDirectory(root) }
    return true
  }

  /// Whether a snapshot is there, with all its parts. Then it counts as needed from now on: else another call could remove it
  /// before a zone begins with it.
  func isReused(_ manifest: SnapshotManifest) throws -> Bool {
    guard try hasAll(manifest) else { return false }
    for (index, part) in manifest.parts.enumerated() {
      guard let stored = try? read(path(of: index, manifest), bytesMax: part.storedBytes),
        part.isStored(stored)
      else { return false }
    }
    try calls.remove(unneededMark(manifest.content.description))
    // It may have been removed in between.
    return try hasAll(manifest)
  }

  /// Whether a snapshot is there, with all its parts. Only their sizes are compared.
  private func hasAll(_ manifest: SnapshotManifest) throws -> Bool {
    guard try calls.status(of: "\(directory(of: manifest.content))/manifest") != nil,
      (try? self.manifest(of: manifest.content)) == manifest
    else { return false }
    for (index, part) in manifest.parts.enumerated() {
      let status = try calls.status(of: path(of: index, manifest))
      guard let status, status.isRegular, status.byteCount == UInt64(part.storedBytes) else { return false }
    }
    return true
  }

  /// Whether a snapshot is there, with all its parts. Only their sizes are compared.
  func isThere(_ content: ContentHash) throws -> Bool {
    do {
      return try hasAll(manifest(of: content))
    } catch let error as StoreError where error.code == .damaged {
      return false
    }
  }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    let file = try calls.createFile(path)
    try bytes.withUnsafeBytes { try calls.write(file, at: 0, $0, path) }
    if isSynced { try calls.sync(file, path) }
  }

  // MARK: Removal

  /// Others may still read or write what nothing needs, for so long, in seconds.
  private static let graceSeconds = 86_400

  /// Removes the snapshots that nothing needs, and what is left of unfinished ones. Another reader or another process may
  /// be at one: only those go that nothing has needed for a day.
  func remove(allBut needed: Set<ContentHash>) throws {
    let names = try calls.names(in: root) ?? []
    let unneeded = try names.filter { name in
      guard ContentHash(name).map(needed.contains) == true else { return true }
      try calls.remove(unneededMark(name))
      return false
    }
    if unneeded.isEmpty { return }
    // The disk's own time, which may not be the machine's.
    let own = "\(root)/\(hexadecimal(makeRandom)).new"
    try makeDirectory(own)
    let now = try calls.status(of: own)?.modified ?? 0
    try removeDirectory(own)
    for name in unneeded {
      if ContentHash(name) != nil, try calls.status(of: unneededMark(name)) == nil {
        try write([], unneededMark(name))
        continue
      }
      guard let status = try calls.status(of: "\(root)/\(name)"), now - status.modified > Self.graceSeconds
      else { continue }
      try removeDirectory("\(root)/\(name)")
    }
  }

  /// Removes what processes have left that ended while they wrote a snapshot: nobody has it locked. One that was to replace a
  /// damaged one gets its name. What was being fetched stays, for who fetches it again.
  ///
  /// - Parameter needed: the snapshots that zones begin with.
  func removeLeftOver(_ needed: () throws -> Set<ContentHash>) throws {
    let names = try calls.names(in: root) ?? []
    for name in names where name.hasSuffix(".new") && ContentHash(String(name.dropLast(4))) == nil {
      let path = "\(root)/\(name)"
      guard let lock = DirectoryLock(ifFree: path) else { continue }
      if let manifest = try? readManifest("\(path)/manifest"), try needed().contains(manifest.content),
        try calls.status(of: directory(of: manifest.content)) == nil
      {
        _ = try giveName(manifest, path)
      } else {
        try removeDirectory(path)
      }
      extendLifetime(lock)
    }
    for name in names where name.hasSuffix(".old") { try removeDirectory("\(root)/\(name)") }
  }

  /// Removes all of them, and their directory.
  func removeAll() throws {
    for name in try calls.names(in: root) ?? [] { try removeDirectory("\(root)/\(name)") }
    rmdir(root)
  }

  private func unneededMark(_ name: String) -> String { "\(root)/\(name)/unneeded" }

  /// Removes one at once.
  func remove(_ content: ContentHash) throws { try removeDirectory(directory(of: content)) }

  private func removeDirectory(_ path: String) throws {
    // Of a link only the link goes: what it names is not the store's.
    guard try calls.isDirectory(path) else { return try calls.remove(path) }
    guard let names = try calls.names(in: path) else { return }
    // Without its manifest it is none.
    for name in names.sorted(by: >) { try calls.remove("\(path)/\(name)") }
    rmdir(path)
  }
}

extension SnapshotManifest.Part {
  /// Whether bytes are those that were stored.
  fileprivate func isStored(_ bytes: [UInt8]) -> Bool {
    bytes.count == storedBytes && ContentHash(of: bytes.span.bytes) == hash
  }
}

private func hexadecimal(_ makeRandom: () -> UInt64) -> String { String(random128(makeRandom), radix: 16) }
