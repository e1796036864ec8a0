import LMDB
import OperationFormat
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Copies a store into a directory, while others read and write it.
///
/// | path | what |
/// |---|---|
/// | `data.mdb` | the data file of the last copy that was whole and sound |
/// | `assets` | the files of assets that it names, and those of earlier copies |
/// | `snapshots` | the snapshots that its zones begin with |
/// | `backup.new` | a copy that is being made, until it takes the place of the last one |
///
/// The data file is that of one commit. LMDB writes it into a pipe, page after page and without free pages. The files of
/// the assets follow that it names. Once all is there and verified, it takes the place of the last copy. A copy that is
/// cut short leaves that as it was; the assets that it has are kept.
struct StoreBackup {
  private static let newName = "backup.new"
  private static let pieceBytes = 1 << 18

  let core: StoreCore
  /// Where the copy goes.
  let directory: String
  let progress: (BackupReport) throws -> Void
  private let calls = FileCalls()
  private var newDirectory: String { "\(directory)/\(Self.newName)" }
  private var isSynced: Bool { !core.configuration.isUnsynced }

  init(_ core: StoreCore, _ directory: String, _ progress: @escaping (BackupReport) throws -> Void) {
    (self.core, self.directory, self.progress) = (core, directory, progress)
  }

  func run() throws -> BackupReport {
    var report = BackupReport()
    do {
      try checkIsElsewhere()
      // LMDB would end the process at a damaged page.
      try core.checkAllPages()
      if try makeDirectory(), isSynced { try calls.syncName(ofDirectory: directory) }
      // One copy into a directory at a time.
      let lock = try DirectoryLock(directory, isRequired: false)
      defer { extendLifetime(lock) }
      try check()
      _ = try calls.makeDirectory(newDirectory)
      do {
        try copy(&report)
      } catch {
        // On a full disk its bytes are needed.
        try? calls.remove("\(newDirectory)/data.mdb")
        throw error
      }
      try publish()
    } catch {
      throw StoreError.translate(error)
    }
    return report
  }

  private func copy(_ report: inout BackupReport) throws {
    try copyData(&report)
    try withCopy(in: newDirectory) { copy in
      try copySnapshots(copy)
      try copyAssets(copy, &report)
      // Assets of an earlier copy may be damaged since.
      while try removeDamaged(verify(copy, report)) { try copyAssets(copy, &report) }
    }
  }

  // MARK: Verification

  private func verify(_ copy: StoreCore, _ report: BackupReport) throws -> [VerificationReport.Problem] {
    let verified = try Verification.run(copy) { _ in try progress(report) }
    guard let other = verified.problems.first(where: { $0.kind != .asset }) else { return verified.problems }
    throw StoreError(
      .damaged, "the copy in “\(newDirectory)” is not sound: \(other)",
      hint: "run `replay verify` for the store; then copy it again")
  }

  /// Removes the files of damaged assets. What is not there, the store does not have.
  ///
  /// - Returns: whether there were any.
  private func removeDamaged(_ problems: [VerificationReport.Problem]) throws -> Bool {
    var hasRemoved = false
    for problem in problems {
      let path = "\(directory)/assets/\(problem.location.prefix(2))/\(problem.location)"
      guard try calls.status(of: path) != nil else { continue }
      try calls.remove(path)
      hasRemoved = true
    }
    return hasRemoved
  }

  // MARK: The directory

  private func makeDirectory() throws -> Bool {
    do throws(FileError) {
      return try calls.makeDirectory(directory)
    } catch {
      guard error.isNoSuchFile else { throw error }
      throw StoreError(
        .system, "“\(directory)” cannot be made: the directory above it does not exist",
        hint: "make that first, or give another directory", underlying: error)
    }
  }

  /// Throws if the copy would be a part of the store that it is of.
  private func checkIsElsewhere() throws {
    guard let store = Self.realPath(core.directory) else { return }
    var above = directory[...]
    while above.count > 1, above.last == "/" { above.removeLast() }
    above = above.lastIndex(of: "/").map { above[...$0] } ?? "."
    // It may not be there yet.
    let isInside =
      Self.realPath(directory).map { $0.hasPrefix("\(store)/") }
      ?? Self.realPath(String(above)).map { $0 == store || $0.hasPrefix("\(store)/") } ?? false
    guard isInside else { return }
    throw StoreError(
      .notAStore, "“\(directory)” is in the directory of the store itself",
      hint: "give a directory elsewhere, on another disk if the copy is to survive this one")
  }

  /// A path without links and dots; nil if nothing is there (realpath).
  private static func realPath(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  /// Checks that the directory is empty, or has an earlier copy of the same store.
  private func check() throws {
    let names = try calls.names(in: directory) ?? []
    let known = ["data.mdb", "lock.mdb", Self.newName, "assets", "snapshots"]
    if let other = names.first(where: { !known.contains($0) }) {
      let isStore = other == StoreMark.name
      throw StoreError(
        .notAStore, "“\(directory)” holds \(isStore ? "a store" : "other files, such as “\(other)”")",
        hint: "give an empty directory, or one with an earlier copy"
          + (isStore ? ". If the copy is to take the place of that store, move the store away first" : ""))
    }
    guard names.contains("data.mdb") else { return }
    var replicas = [core.identity.replica]
    replicas += try core.read { try $0.readView.meta.formers() }
    let found = try withCopy(in: directory) {
      [$0.identity.replica] + (try $0.read { try $0.readView.meta.formers() })
    }
    guard found.contains(where: replicas.contains) else {
      throw StoreError(
        .notAStore, "“\(directory)” holds a copy of another store, of replica \(found[0])",
        hint: "give an empty directory, or one with an earlier copy of this store")
    }
  }

  private func withCopy<R>(in place: String, _ body: (StoreCore) throws -> R) throws -> R {
    var configuration = StoreConfiguration()
    configuration.isReadOnly = true
    configuration.createsStore = false
    // Nobody writes to it.
    configuration.allowsNetworkFileSystem = true
    configuration.assetDirectory = directory
    configuration.mapBytes = core.configuration.mapBytes
    configuration.scratchDirectory = core.configuration.scratchDirectory
    let copy = try StoreCore(place, .durable, configuration)
    defer { copy.close() }
    return try body(copy)
  }

  /// Lets the new copy take the place of the last one.
  private func publish() throws {
    try calls.rename("\(newDirectory)/data.mdb", to: "\(directory)/data.mdb")
    if isSynced { try calls.syncDirectory(directory) }
    // The next to open it makes the lock file again.
    for path in ["\(newDirectory)/lock.mdb", "\(directory)/lock.mdb"] { try calls.remove(path) }
    rmdir(newDirectory)
    try removeUnneededSnapshots()
    // It was opened once more.
    try calls.remove("\(directory)/lock.mdb")
  }

  // MARK: The data file

  private func copyData(_ report: inout BackupReport) throws {
    let path = "\(newDirectory)/data.mdb"
    try calls.remove(path)
    let file = try calls.createFile(path)
    let source = try DataPipe(core.environment)
    var buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
    while true {
      let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
      if count == 0 { break }
      let at = report.dataBytes
      try buffer.withUnsafeBytes {
        try calls.write(file, at: at, UnsafeRawBufferPointer(rebasing: $0[..<count]), path)
      }
      report.dataBytes += UInt64(count)
      try progress(report)
    }
    if isSynced { try calls.sync(file, path) }
  }

  // MARK: Snapshots

  private var snapshots: SnapshotFiles {
    SnapshotFiles(
      store: directory, isSynced: isSynced, calls: calls, makeRandom: core.configuration.makeRandom)
  }

  /// Copies the snapshots that are not there yet, or are damaged there. Those of the last copy stay until this one has taken
  /// its place.
  private func copySnapshots(_ copy: StoreCore) throws {
    for content in try copy.read({ try $0.readView.zones.originContents() }) {
      let manifest: SnapshotManifest
      do {
        manifest = try core.snapshots.manifest(of: content)
      } catch let error as StoreError where error.code == .damaged {
        // An earlier copy may still have it whole: the verification says.
        if try snapshots.isThere(content) { continue }
        throw error
      }
      if try snapshots.isReused(manifest) { continue }
      _ = try snapshots.make { keep in
        for index in manifest.parts.indices { try keep(index, core.snapshots.part(index, of: manifest)) }
        return manifest
      }
    }
  }

  private func removeUnneededSnapshots() throws {
    let needed = try withCopy(in: directory) { copy in
      try copy.read { try $0.readView.zones.originContents() }
    }
    try snapshots.remove(allBut: needed)
  }

  // MARK: Assets

  private func copyAssets(_ copy: StoreCore, _ report: inout BackupReport) throws {
    (report.assetsKept, report.assetsMissing, report.assetsDamaged) = (0, 0, 0)
    let target = AssetFiles(
      directory: directory, isSynced: isSynced, calls: calls, makeRandom: core.configuration.makeRandom)
    try target.sweepIncoming()
    var buffer = [UInt8](repeating: 0, count: AssetFiles.pieceBytes)
    try copy.read { read in
      try read.forEachAsset(in: target) { asset in
        let reference = asset.reference
        if asset.isHere {
          report.assetsKept += 1
          return true
        }
        guard try core.assets.isHere(reference) else {
          report.assetsMissing += 1
          return true
        }
        let path = core.assets.path(of: reference.hash)
        let file = try calls.openFile(path)
        let incoming = try target.begin()
        var offset: UInt64 = 0
        while true {
          let count = try buffer.withUnsafeMutableBytes { try calls.read(file, at: offset, into: $0, path) }
          if count == 0 { break }
          try buffer.withUnsafeBytes { try incoming.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
          offset += UInt64(count)
          report.assetBytes += UInt64(count)
          try progress(report)
        }
        if try incoming.finish() == reference {
          try incoming.publish()
          report.assets += 1
        } else {
          report.assetsDamaged += 1
        }
        return true
      }
    }
  }
}

/// The bytes of a data file, as LMDB copies it: a thread writes them into a pipe.
private final class DataPipe {
  private let descriptor: Int32
  private let outcome: CopyOutcome

  /// - Throws: ``StoreError`` `system`.
  init(_ environment: Environment) throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw FileError(number: errno, call: "pipe", path: environment.directory) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (outcome, target) = (CopyOutcome(), ends[1])
    descriptor = ends[0]
    self.outcome = outcome
    do {
      try StoreThread.start {
        do throws(LMDBError) {
          try environment.copy(to: target)
        } catch {
          outcome.error.withLock { $0 = error }
        }
        close(target)
        outcome.isOver.raise()
      }
    } catch {
      close(target)
      outcome.isOver.raise()
      throw error
    }
  }

  /// If the copy is not at its end, LMDB finds that nobody reads it, and the thread ends.
  deinit {
    close(descriptor)
    outcome.isOver.wait()
  }

  /// - Returns: how many bytes; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      #if canImport(Darwin)
        let count = Darwin.read(descriptor, buffer.baseAddress!, buffer.count)
      #else
        let count = Glibc.read(descriptor, buffer.baseAddress!, buffer.count)
      #endif
      if count > 0 { return count }
      if count < 0, errno == EINTR { continue }
      if let error = outcome.error.withLock({ $0 }) { throw error }
      guard count == 0 else { throw FileError(number: errno, call: "read", path: "pipe") }
      return 0
    }
  }
}

private final class CopyOutcome: Sendable {
  let error = Mutex<LMDBError?>(nil)
  let isOver = Signal()
}
