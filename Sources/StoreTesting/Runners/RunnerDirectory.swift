#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A directory that a runner writes to.
enum RunnerDirectory {
  /// Makes a directory and those above it, unless they exist.
  ///
  /// - Parameter purpose: what it is for, such as “the stores”.
  /// - Throws: ``HistoryError`` `directoryUnusable`, also if it may not be written.
  static func make(_ path: String, for purpose: String) throws(HistoryError) {
    var made = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      made += part
      if mkdir(made, 0o777) != 0, errno != EEXIST { throw unusable(path, errno, purpose) }
      made += "/"
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw unusable(path, ENOTDIR, purpose)
    }
    guard access(path, R_OK | W_OK | X_OK) == 0 else { throw unusable(path, errno, purpose) }
  }

  private static func unusable(_ path: String, _ code: Int32, _ purpose: String) -> HistoryError {
    HistoryError(
      .directoryUnusable, "the directory “\(path)” cannot be used: \(String(cString: strerror(code)))",
      hint: "for \(purpose) name one that you may make or write")
  }
}
