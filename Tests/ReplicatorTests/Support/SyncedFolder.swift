import StoreTesting
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Models what a file system must have on its disk, as POSIX says: the bytes of a file at its last sync, and the names in a
/// directory at its last sync. A power cut may lose everything else, and need not.
final class SyncedFolder: Sendable {
  private struct State {
    /// The bytes of each file that was synced, and the names of each directory, by their inodes.
    var contents: [UInt64: [UInt8]] = [:]
    var names: [UInt64: [String: UInt64]] = [:]
  }

  /// What is on the disk beyond what must be.
  enum Rest: CaseIterable {
    /// Nothing.
    case none
    /// All names, but no bytes: files that were not synced are empty.
    case names
    /// Of each name and each file's bytes, a part that chance decides.
    case some
  }

  private let state = Mutex(State())
  private let directory: String

  /// - Parameter directory: the directory that contains the folder. It is on the disk, and what is in it now.
  init(_ directory: String) {
    self.directory = directory
    withDescriptor(of: directory) { didSync($0) }
  }

  // MARK: What is synced

  /// Takes what a call of `fsync` has put on the disk.
  func didSync(_ descriptor: Int32) {
    guard let (inode, isDirectory) = Self.status(descriptor) else { return }
    if isDirectory {
      let names = Self.names("/dev/fd/\(descriptor)")
      state.withLock { $0.names[inode] = names }
    } else {
      // Linux opens the file again, here for reading.
      let bytes = Self.bytes("/dev/fd/\(descriptor)")
      state.withLock { $0.contents[inode] = bytes }
    }
  }

  // MARK: What is there after a power cut

  /// Writes to a directory what is there after a power cut now.
  func cut(to image: String, keeping rest: Rest, seed: UInt64) {
    var random = SeededRandom(seed: seed)
    mkdir(image, 0o700)
    state.withLock { restore($0, directory, nil, image, rest, &random) }
  }

  /// - Parameters:
  ///   - path: where the directory is now; nil if it is nowhere.
  ///   - inode: which directory; nil for that at the path.
  private func restore(
    _ state: State, _ path: String?, _ inode: UInt64?, _ image: String, _ rest: Rest,
    _ random: inout SeededRandom
  ) {
    let now = path.map(Self.names) ?? [:]
    let synced = (inode ?? path.flatMap(Self.inode)).flatMap { state.names[$0] } ?? [:]
    for name in Set(now.keys).union(synced.keys).sorted() {
      let isKept =
        switch rest {
        case .none: false
        case .names: true
        case .some: random.next() % 2 == 0
        }
      // A name that was removed, or given to another file, may be what it was.
      guard let found = isKept ? now[name] : synced[name] else { continue }
      let current = path.map { "\($0)/\(name)" }.flatMap { now[name] == found ? $0 : nil }
      if state.names[found] != nil || current.map(Self.isDirectory) ?? false {
        mkdir("\(image)/\(name)", 0o700)
        restore(state, current, found, "\(image)/\(name)", rest, &random)
      } else {
        var bytes = state.contents[found] ?? []
        if state.contents[found] == nil, rest == .some, let current {
          bytes = Array(Self.bytes(current).prefix(random.next(below: 100)))
        }
        Self.write(bytes, to: "\(image)/\(name)")
      }
    }
  }

  // MARK: Files

  private static func status(_ descriptor: Int32) -> (inode: UInt64, isDirectory: Bool)? {
    var raw = stat()
    guard fstat(descriptor, &raw) == 0 else { return nil }
    return (UInt64(raw.st_ino), raw.st_mode & S_IFMT == S_IFDIR)
  }

  private static func inode(_ path: String) -> UInt64? {
    var raw = stat()
    return lstat(path, &raw) == 0 ? UInt64(raw.st_ino) : nil
  }

  private static func isDirectory(_ path: String) -> Bool {
    var raw = stat()
    return lstat(path, &raw) == 0 && raw.st_mode & S_IFMT == S_IFDIR
  }

  /// The names in a directory, and their inodes.
  private static func names(_ path: String) -> [String: UInt64] {
    var names: [String: UInt64] = [:]
    for name in namesOfFiles(in: path) { names[name] = inode("\(path)/\(name)") }
    return names
  }

  private static func bytes(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    return Array(bytes[..<fread(&bytes, 1, bytes.count, file)])
  }

  private static func write(_ bytes: [UInt8], to path: String) {
    guard let file = fopen(path, "w") else { preconditionFailure("\(path) cannot be written") }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  private func withDescriptor(of path: String, _ body: (Int32) -> Void) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY)
    precondition(descriptor >= 0, "\(path) cannot be opened")
    body(descriptor)
    close(descriptor)
  }
}
