/// Identifies a file, whatever its path is.
struct FileIdentity: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64
}
