#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The lock of a directory, held as long as this object exists. It excludes other openings in this process
/// and in others.
package final class DirectoryLock: Sendable {
  private let descriptor: Int32

  /// Waits until the lock is free, and takes it (open, flock).
  ///
  /// - Parameter isRequired: whether it is an error if the file system has no such locks.
  /// - Throws: ``StoreError`` `notAStore` if there is no such directory, `readOnly` if it may not be read,
  ///   `system`.
  init(_ path: String, isRequired: Bool) throws {
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw StoreError.unseen(errno, in: path)
    }
    while flock(descriptor, LOCK_EX) != 0 {
      if errno == EINTR { continue }
      guard isRequired else { break }
      throw FileError(number: errno, call: "flock", path: path).storeError
    }
  }

  /// Takes the lock if it is free; nil if it is not, or there is no such directory or lock.
  package init?(ifFree path: String) {
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
  }

  /// Whether the locked directory is what is at a path now (fstat, stat).
  func isOf(_ path: String) -> Bool {
    var (own, found) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &found) == 0 && own.st_dev == found.st_dev
      && own.st_ino == found.st_ino
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
