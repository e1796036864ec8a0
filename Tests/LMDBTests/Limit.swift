#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A limit that the operating system sets a process; to be lowered in helper processes alone (setrlimit).
enum Limit {
  case openFiles, fileBytes

  /// Sets what the process has at most; it can be raised again.
  func set(_ value: Int) {
    let resource = self == .openFiles ? RLIMIT_NOFILE : RLIMIT_FSIZE
    var limit = rlimit()
    #if canImport(Glibc)
      let number = __rlimit_resource_t(resource.rawValue)
    #else
      let number = resource
    #endif
    getrlimit(number, &limit)
    limit.rlim_cur = rlim_t(value)
    demand(setrlimit(number, &limit) == 0, "the limit cannot be set to \(value)")
  }
}
