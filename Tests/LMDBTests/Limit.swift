#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A limit of the operating system for this process. Lower it only in helper processes (setrlimit).
enum Limit {
  case openFiles, fileBytes

  /// Sets the limit for the process; it can be raised again.
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
