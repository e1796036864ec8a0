internal import EventStore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension FileError {
  /// The error for the user of the remote.
  var remoteError: RemoteError {
    let message = "\(call) of \(path) failed: \(String(cString: strerror(number)))"
    switch number {
    case ENOSPC, EDQUOT, EFBIG:
      return RemoteError(
        .overQuota, message, hint: "free space in the folder; reading still works")
    case EACCES, EPERM:
      return RemoteError(
        .denied, message, hint: "give this user the right to read and write the folder's files")
    case EROFS:
      return RemoteError(.denied, message, hint: "mount the file system of the folder for writing")
    case EIO, ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ECONNRESET, ENODEV,
      ENXIO, ESHUTDOWN:
      return RemoteError(
        .unreachable, message, hint: "check the disk or the network that the folder is on, and mount it again"
      )
    case ENOTDIR, ELOOP, EISDIR:
      return RemoteError(
        .damaged, "\(path) is not what a remote keeps there: \(String(cString: strerror(number)))",
        hint: "it is foreign: move it away, or restore the folder from a backup")
    case EMFILE, ENFILE, ENOMEM, EAGAIN, EBUSY, ENOLCK:
      return RemoteError(.later, message, hint: "the machine lacks a resource for the moment; try again")
    case ENOENT:
      return RemoteError(.system, message, hint: "check that the directory above it exists, and is mounted")
    default:
      return RemoteError(.system, message, hint: "check the folder and its file system")
    }
  }
}
