import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Which file of which machine a store's data file is, and how far the store was: what the mark notes of a store each
/// time it is opened for writing.
///
/// Where the next opening finds another place, or an earlier state, the store is a copy, or was put back from a
/// backup: it takes a new identity, so that no two stores write under one. What this cannot tell, such as a machine
/// that was rolled back with its disk, the remote log tells: see ``LaneRewrite``.
struct StorePlace: Hashable, Sendable {
  /// SHA-256 of the identity that the system gives the machine, in hexadecimal digits; `-` where it gives none.
  var machine: String
  private static let unknown = "-"
  /// The identity of the file system (statvfs). On ext4 and btrfs it stays the same when the disk gets another device
  /// number; on others it may be that number.
  var fileSystem: UInt64
  var inode: UInt64
  /// LMDB's number of the last commit.
  var commit: UInt64

  init(ofFile path: String, commit: UInt64, machineID: String?) throws(FileError) {
    var (file, volume) = (stat(), statvfs())
    guard stat(path, &file) == 0 else { throw FileError(number: errno, call: "stat", path: path) }
    guard statvfs(path, &volume) == 0 else { throw FileError(number: errno, call: "statvfs", path: path) }
    machine =
      machineID.map { "\(ContentHash(of: "tributary machine \($0)".utf8Span.span.bytes))" } ?? Self.unknown
    fileSystem = UInt64(truncatingIfNeeded: volume.f_fsid)
    inode = UInt64(truncatingIfNeeded: file.st_ino)
    self.commit = commit
  }

  /// Whether a store that was noted at a place can be the one here.
  func continues(_ noted: StorePlace) -> Bool {
    isAt(noted) && commit >= noted.commit
  }

  func isAt(_ noted: StorePlace) -> Bool {
    // A process in a sandbox may not know the machine.
    let isOfMachine = machine == noted.machine || machine == Self.unknown || noted.machine == Self.unknown
    return isOfMachine && (fileSystem, inode) == (noted.fileSystem, noted.inode)
  }

  // MARK: The line of the mark

  var line: String { "place 1 \(machine) \(fileSystem) \(inode) \(commit)" }

  /// Nil for another line.
  init?(line: Substring) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 6, words[0] == "place", words[1] == "1", let fileSystem = UInt64(words[3]),
      let inode = UInt64(words[4]), let commit = UInt64(words[5])
    else { return nil }
    (machine, self.fileSystem, self.inode, self.commit) = (String(words[2]), fileSystem, inode, commit)
  }
}
