import ChildProcesses
import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension ChildProcess {
  /// Starts `RemoteWriter`.
  convenience init(_ arguments: String...) { self.init(program: "RemoteWriter", arguments) }

  /// The program `RemoteWriter` of another version of the engine: `OTHER_REMOTE_WRITER`; nil for none.
  private static let otherRemoteWriter = getenv("OTHER_REMOTE_WRITER").map { String(cString: $0) }

  /// Starts `RemoteWriter`.
  ///
  /// - Parameters:
  ///   - isOther: whether that of another version, if there is one.
  ///   - takesInput: whether it reads what is sent to it.
  static func remoteWriter(isOther: Bool, takesInput: Bool = false, _ arguments: [String]) -> ChildProcess {
    guard isOther, let program = otherRemoteWriter else {
      return ChildProcess(program: "RemoteWriter", takesInput: takesInput, arguments)
    }
    do {
      return try ChildProcess(
        path: program, arguments, environment: ["SWIFT_BACKTRACE=enable=no", "TMPDIR=/tmp"],
        takesInput: takesInput)
    } catch {
      preconditionFailure("\(program) cannot be started: error \(error.number)")
    }
  }

  /// The output of a process, and how it ended.
  struct Run {
    var lines: [String]
    var end: End
  }

  /// Starts `RemoteWriter` and waits for its end, on a thread that no task needs.
  ///
  /// - Parameter isOther: whether that of another version, if there is one.
  static func run(isOther: Bool = false, _ arguments: String...) async -> Run {
    await onThread {
      let child = ChildProcess.remoteWriter(isOther: isOther, arguments)
      return Run(lines: child.lines(waitingSeconds: 600), end: child.wait())
    }
  }
}
