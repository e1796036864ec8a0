#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Who may do what with the directories and files of a remote: what the root of it says, whatever the umask
/// of who puts them. Else one user of many could put what the others cannot read.
struct FolderMode {
  /// The mode of the root's directories: all of its bits but set-user-ID, which means nothing there.
  let directoryBits: UInt32
  /// The mode of files: the root's bits of reading and writing. Their owner may always do both.
  let fileBits: UInt32

  init(ofRoot status: FolderCalls.Status) {
    directoryBits = status.modeBits & 0o3777
    fileBits = status.modeBits & 0o666 | 0o600
  }

  /// Gives an own directory the root's mode.
  func give(to directory: borrowing Descriptor, _ calls: FolderCalls, _ path: String) throws(FileError) {
    let status = try calls.status(of: directory, path)
    guard status.isOwn, status.modeBits != directoryBits else { return }
    try set(directoryBits, of: directory, calls, path)
  }

  /// Gives a file, which its owner alone could read, the root's mode.
  func give(toFile file: borrowing Descriptor, _ calls: FolderCalls, _ path: String) throws(FileError) {
    if fileBits != 0o600 { try set(fileBits, of: file, calls, path) }
  }

  private func set(
    _ bits: UInt32, of file: borrowing Descriptor, _ calls: FolderCalls, _ path: String
  ) throws(FileError) {
    do throws(FileError) {
      try calls.setMode(of: file, bits, path)
    } catch {
      switch error.number {
      // A file system that keeps no modes gives all files those that it was mounted with.
      case EPERM, EINVAL, EOPNOTSUPP, ENOSYS: return
      default: throw error
      }
    }
  }
}
