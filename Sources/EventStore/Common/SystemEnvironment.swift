import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The outside world: the clock and the randomness of the machine, and directories. Nothing else in this
/// target uses them.
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

  /// The identity of this machine, as the system names it (machine-id); nil if it names none.
  static func machineID() -> String? {
    #if os(Linux)
      guard let text = try? FileCalls().text(of: "/etc/machine-id", bytesMax: 64) else { return nil }
      let name = String(text.prefix { $0 != "\n" })
      return name.isEmpty || name == "uninitialized" ? nil : name
    #else
      return nil
    #endif
  }

  /// Makes a directory that only this user may read, if there is none.
  static func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) != 0 else { return }
    let code = errno
    if code == EEXIST { return }
    throw StoreError(
      code == EACCES || code == EROFS ? .readOnly : .system,
      "the directory “\(path)” cannot be made: \(String(cString: strerror(code)))",
      hint: "check that the directory above it exists and may be written")
  }

  /// How many bytes a file has; nil if there is none (stat).
  static func fileBytes(_ path: String) throws -> Int? {
    var raw = stat()
    if stat(path, &raw) == 0 { return Int(raw.st_size) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    if errno == EACCES {
      let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path
      throw StoreError.unseen(EACCES, in: directory)
    }
    throw failure("stat", path)
  }

  /// Keeps files away from the descriptors of standard input, output and error, if these are closed.
  package static func fillStandardDescriptors() { StandardDescriptors.fill() }

  /// The names in a directory.
  static func names(in path: String) throws -> [String] {
    let directory: OpenFile
    do {
      directory = try OpenFile(directory: path)
    } catch {
      throw StoreError(
        .notAStore, "“\(path)” cannot be read as a directory: \(String(cString: strerror(error.number)))",
        hint: "give the directory of a store; a new one is made only in an empty directory")
    }
    do {
      return try directory.names(path)
    } catch {
      throw error.storeError
    }
  }

  private static func failure(_ call: StaticString, _ path: String) -> any Error {
    FileError(number: errno, call: call, path: path).storeError
  }

  /// Makes a new directory of a unique name for scratch files: in the given directory, else in `TMPDIR`, else
  /// `/tmp`.
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
    removeDataFiles(in: path)
    rmdir(path)
  }

  /// Removes the data files in a directory.
  static func removeDataFiles(in path: String) {
    unlink("\(path)/data.mdb")
    unlink("\(path)/lock.mdb")
  }
}
