#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Limits the memory of a process, without its maps of files.
enum MemoryLimit {
  /// Ends this process if it takes more memory. Works only on Linux.
  static func set(mebibytes: UInt64) throws {
    let (bytes, overflow) = mebibytes.multipliedReportingOverflow(by: 1 << 20)
    var limit = rlimit()
    limit.rlim_cur = overflow ? .max : rlim_t(bytes)
    limit.rlim_max = limit.rlim_cur
    #if canImport(Glibc)
      let result = setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
    #else
      let result = setrlimit(RLIMIT_DATA, &limit)
    #endif
    guard result == 0 else {
      throw ToolError(
        "system", "the memory of a worker cannot be limited: \(String(cString: strerror(errno)))",
        hint: "see what limits this process itself has: ulimit -d")
    }
  }
}
