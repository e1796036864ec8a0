import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension Process {
  /// Waits until the process has ended, and gives its status, or the signal that ended it. Foundation learns of the end by a
  /// socket, and may miss it.
  func exitStatus() -> Int32 {
    var end = siginfo_t()
    while waitid(P_PID, id_t(processIdentifier), &end, WEXITED | WNOWAIT) != 0 {
      if errno == EINTR { continue }
      // It was reaped, so that Foundation knows.
      waitUntilExit()
      return terminationStatus
    }
    #if canImport(Glibc)
      return end._sifields._sigchld.si_status
    #else
      return end.si_status
    #endif
  }
}
