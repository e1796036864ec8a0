import ChildProcesses
import StoreTesting

extension ChildProcess {
  /// Starts `RemoteWriter`.
  convenience init(_ arguments: String...) { self.init(program: "RemoteWriter", arguments) }

  /// The output of a process, and how it ended.
  struct Run {
    var lines: [String]
    var end: End
  }

  /// Starts `RemoteWriter` and waits for its end, on a thread that no task needs.
  static func run(_ arguments: String...) async -> Run {
    await onThread {
      let child = ChildProcess(program: "RemoteWriter", arguments)
      return Run(lines: child.lines(waitingSeconds: 600), end: child.wait())
    }
  }
}
