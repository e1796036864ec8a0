internal import EventStore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The modes of a remote's directories and files: those of its root, whatever the umask of the writer.
/// Otherwise one of several users could put files that the others cannot read.
struct FolderMode {
  /// The mode of directories: all bits of the root but set-user-ID, which has no meaning there.
  let directoryBits: UInt32
  /// The mode of files: the root's bits for reading and writing. The owner may always do both.
  let fileBits: UInt32

  init(ofRoot status: FolderCalls.Status) {
    directoryBits = status.modeBits & 0o3777
    fileBits = status.modeBits & 0o666 | 0o600
  }

  /// Gives a directory the root's mode, if this user owns it.
  func give(to directory: borrowing OpenFile, _ calls: FolderCalls, _ path: String) throws(FileError) {
    let status = try calls.status(of: directory, path)
    guard status.isOwn, status.modeBits != directoryBits else { return }
    try set(directoryBits, of: directory, calls, path)
  }

  /// Gives a file, which only its owner could read, the root's mode.
  func give(toFile file: borrowing OpenFile, _ calls: FolderCalls, _ path: String) throws(FileError) {
    if fileBits != 0o600 { try set(fileBits, of: file, calls, path) }
  }

  private func set(
    _ bits: UInt32, of file: borrowing OpenFile, _ calls: FolderCalls, _ path: String
  ) throws(FileError) {
    do throws(FileError) {
      try calls.setMode(of: file, bits, path)
    } catch {
      switch error.number {
      // On a file system without modes, all files have those of the mount.
      case EPERM, EINVAL, EOPNOTSUPP, ENOSYS: return
      default: throw error
      }
    }
  }
}
