#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// How a call for a file fails, for tests.
package enum FileFault: Sendable {
  /// It does nothing, and fails with this `errno`.
  case before(Int32)
  /// It does its work and then fails, as on a network file system that lost the answer.
  case after(Int32)
}

/// An open file or directory. It is closed with the value.
package struct OpenFile: ~Copyable {
  package let descriptor: Int32

  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Opens a directory, to sync it or to read its names (open).
  package init(directory path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(number: errno, call: "open", path: path) }
    self.init(descriptor)
  }

  /// An error of close does not matter: what must be durable was synced before.
  deinit { _ = close(descriptor) }

  /// The names in an open directory, in the order of their bytes (fdopendir, readdir). Closes the directory.
  ///
  /// Names that are not UTF-8 come with the replacement character: they are foreign, and are listed but not
  /// opened.
  package consuming func names(
    _ path: String, where isWanted: (String) -> Bool = { _ in true }
  ) throws(FileError) -> [String] {
    guard let stream = fdopendir(descriptor) else {
      let number = errno
      _ = consume self
      throw FileError(number: number, call: "fdopendir", path: path)
    }
    // The stream closes the descriptor.
    discard self
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw FileError(number: errno, call: "readdir", path: path) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." && isWanted(name) { names.append(name) }
    }
  }
}

/// A call of the operating system for a file that failed.
package struct FileError: Error {
  /// `errno`.
  package var number: Int32
  /// The C name of the call.
  package var call: StaticString
  package var path: String

  package init(number: Int32, call: StaticString, path: String) {
    self.number = number
    self.call = call
    self.path = path
  }

  var isNoSuchFile: Bool { number == ENOENT }

  /// Whether it is the bytes of an open file that cannot be read: a bad sector, say, not a lack of anything.
  var isUnreadable: Bool { "\(call)" == "pread" }

  var storeError: StoreError {
    let message = "\(call) of “\(path)” failed: \(String(cString: strerror(number)))"
    switch number {
    case ENOSPC, EDQUOT, EFBIG:
      return StoreError(.full, message, hint: "free space on the disk and try again", underlying: self)
    case EACCES, EPERM:
      return StoreError(
        .readOnly, message, hint: "give this user the right to read and write there", underlying: self)
    case EROFS:
      return StoreError(
        .readOnly, message, hint: "mount the file system for writing", underlying: self)
    default:
      return StoreError(
        .system, message, hint: "check the path and its disk, and try again", underlying: self)
    }
  }
}
