#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The outside world: the clock and the randomness of the machine, and directories. Nothing else in this target
/// asks for them.
public enum SystemEnvironment {
  /// The machine's wall clock, in milliseconds since 1970.
  public static func wallMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// 64 bits of the machine's randomness.
  public static func makeRandom() -> UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }

  /// Makes a directory for this user alone, if there is none.
  static func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) != 0 else { return }
    let code = errno
    if code == EEXIST { return }
    throw StoreError(
      code == EACCES || code == EROFS ? .readOnly : .system,
      "the directory “\(path)” cannot be made: \(String(cString: strerror(code)))",
      hint: "check that the directory above it exists and may be written")
  }

  /// Whether a file or directory is there.
  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Makes a new directory of a unique name for scratch files: in the given directory, else in `TMPDIR`, else `/tmp`.
  static func makeScratchDirectory(in directory: String?) throws -> String {
    let parent = directory ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/tributary-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw StoreError(
        .system, "no scratch directory can be made in “\(parent)”: \(String(cString: strerror(errno)))",
        hint: "set TMPDIR to a directory that may be written")
    }
    return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  /// Removes a scratch directory and the data files in it.
  static func removeScratchDirectory(_ path: String) {
    unlink("\(path)/data.mdb")
    unlink("\(path)/lock.mdb")
    rmdir(path)
  }
}
