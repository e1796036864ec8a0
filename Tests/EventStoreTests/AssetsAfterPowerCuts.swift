import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Models which files below a directory are on the disk, as POSIX guarantees it: the bytes of a file at its
/// last sync, and the names in a folder at its last sync. A power failure loses everything else.
///
/// The data file is taken as it is, with all commits that LMDB has written. That is the worst case for the
/// assets of those commits.
final class SyncedFiles: Sendable {
  private struct State {
    var contents: [UInt64: [UInt8]] = [:]
    var names: [UInt64: [String: UInt64]] = [:]
    var folders: Set<UInt64> = []
    var cuts = 0
    var lost = 0
    var problems: [String] = []
  }

  private let state = Mutex(State())
  let store: String
  private let image: String

  init(store: String, image: String) {
    self.store = store
    self.image = image
  }

  /// How many power failures were simulated, how many of them lost an asset of a commit, and other problems.
  var outcome: (cuts: Int, lost: Int, problems: [String]) {
    state.withLock { ($0.cuts, $0.lost, $0.problems) }
  }

  /// Records a successful call, and simulates a power failure after it.
  func didCall(_ name: StaticString, _ path: String) {
    if "\(name)" == "fsync" { note(path) }
    cut("after \(name) of \(path)")
  }

  private func note(_ path: String) {
    guard let status = Self.status(path) else { return }
    if status.isFolder {
      var names: [String: UInt64] = [:]
      for name in namesOfFiles(in: path) {
        guard let found = Self.status("\(path)/\(name)") else { continue }
        names[name] = found.inode
        if found.isFolder { _ = state.withLock { $0.folders.insert(found.inode) } }
      }
      state.withLock { $0.names[status.inode] = names }
    } else {
      let bytes = fileBytes(path)
      state.withLock { $0.contents[status.inode] = bytes }
    }
  }

  /// Simulates a power failure now: opens what is on the disk, and checks each asset of a record.
  func cut(_ moment: String) {
    do {
      let lost = try assetsLost()
      state.withLock { state in
        state.cuts += 1
        if lost > 0 { state.lost += 1 }
      }
    } catch {
      state.withLock { $0.problems.append("\(moment): \(error)") }
    }
  }

  private func assetsLost() throws -> Int {
    removeTree(image)
    mkdir(image, 0o700)
    let bytes = fileBytes(store + "/data.mdb")
    writeFile(image + "/data.mdb", bytes)
    if let root = Self.status(store)?.inode { state.withLock { restore($0, root, image) } }
    var configuration = StoreConfiguration()
    configuration.mapBytes = 1 << 30
    configuration.isUnsynced = true
    let opened = try LocalStore(directory: image, durability: .consistent, configuration: configuration)
    defer { opened.close() }
    guard try opened.read({ try $0.zones().contains(noteZone) }) else { return 0 }
    var lost = 0
    for record in try opened.read({ try $0.records(in: noteZone) }) {
      guard let asset = try opened.asset("photo", record.id) else { continue }
      if try opened.checkAsset(asset) != .whole { lost += 1 }
    }
    return lost
  }

  /// Writes the names and bytes of a folder that are on the disk.
  private func restore(_ state: State, _ folder: UInt64, _ path: String) {
    for (name, inode) in state.names[folder] ?? [:] where !name.hasSuffix(".mdb") {
      if state.folders.contains(inode) {
        mkdir("\(path)/\(name)", 0o700)
        restore(state, inode, "\(path)/\(name)")
      } else {
        writeFile("\(path)/\(name)", state.contents[inode] ?? [])
      }
    }
  }

  private static func status(_ path: String) -> (inode: UInt64, isFolder: Bool)? {
    var raw = stat()
    guard stat(path, &raw) == 0 else { return nil }
    return (UInt64(raw.st_ino), raw.st_mode & S_IFMT == S_IFDIR)
  }
}

/// Removes a directory with everything below it.
private func removeTree(_ path: String) {
  for name in filesBelow(path) { unlink("\(path)/\(name)") }
  for name in namesOfFiles(in: path) { removeTree("\(path)/\(name)") }
  rmdir(path)
}

@Suite("A power failure after assets were written")
struct AssetsAfterPowerCuts {
  let directory = TemporaryDirectory()

  private func open(
    _ durability: Durability, _ files: SyncedFiles
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.mapBytes = 1 << 30
    configuration.assetThresholdBytes = 1000
    configuration.didCallForAsset = { files.didCall($0, $1) }
    return try LocalStore(directory: files.store, durability: durability, configuration: configuration)
  }

  @Test(
    "leaves no commit with an incomplete asset, in both durabilities",
    arguments: Durability.allCases)
  func cuts(_ durability: Durability) async throws {
    let files = SyncedFiles(store: directory.path + "/store", image: directory.path + "/image")
    let store = try open(durability, files)
    try await store.makeZone()
    for number in 0..<6 {
      let bytes = assetBytes(5000 + number, seed: UInt64(number))
      let record = note("record \(number)")
      switch number % 3 {
      case 0:
        let asset = try await store.importAsset(bytes: bytes)
        files.cut("import \(number)")
        try await store.write { try $0.create(record, type: "note", fields: ["photo": .asset(asset)]) }
      case 1:
        try await store.write { try $0.create(record, type: "note", fields: ["photo": .bytes(bytes)]) }
      default:
        let asset = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: UInt64(bytes.count))
        let partial = try #require(try store.assetTransfers.partial(asset))
        try partial.append(bytes)
        try partial.publish()
        try await store.assetTransfers.noteArrival(of: asset)
        try await store.write { try $0.create(record, type: "note", fields: ["photo": .asset(asset)]) }
      }
      files.cut("write \(number)")
    }
    let (cuts, lost, problems) = files.outcome
    print("power cuts with assets, \(durability): \(cuts) tried, \(lost) lost an asset that is named")
    #expect(lost == 0)
    #expect(problems == [])
    #expect(cuts > 60)
  }

  @Test("only the user can access the files and folders of a store")
  func modes() async throws {
    let mask = umask(0o022)
    defer { umask(mask) }
    let files = SyncedFiles(store: directory.path + "/store", image: directory.path + "/image")
    let store = try open(.consistent, files)
    try await store.makeZone()
    let record = note("first")
    let bytes = assetBytes(5000)
    try await store.write { try $0.create(record, type: "note", fields: ["photo": .bytes(bytes)]) }
    let coming = assetBytes(2000, seed: 2)
    let asset = AssetReference(hash: ContentHash(of: coming.span.bytes), byteCount: UInt64(coming.count))
    let partial = try #require(try store.assetTransfers.partial(asset))
    try partial.append(coming)
    for path in Set(filesBelow(store.directory)) {
      #expect(Self.mode(store.directory + "/" + path) == 0o600, "\(path)")
      var folder = path.split(separator: "/").dropLast()
      while !folder.isEmpty {
        #expect(Self.mode(store.directory + "/" + folder.joined(separator: "/")) == 0o700, "\(folder)")
        folder = folder.dropLast()
      }
    }
    #expect(Self.mode(store.directory) == 0o700)
  }

  private static func mode(_ path: String) -> mode_t {
    var raw = stat()
    return stat(path, &raw) == 0 ? raw.st_mode & 0o777 : 0
  }
}
