import ChildProcesses
import Dispatch
import StoreTesting

extension ChildProcess {
  /// Starts `RemoteWriter`.
  convenience init(_ arguments: String...) { self.init(program: "RemoteWriter", arguments) }

  /// The output of a process, and how it ended.
  struct Story {
    var lines: [String]
    var end: End
  }

  /// Starts a process and waits for its end, on a thread that no task needs.
  static func run(_ arguments: String...) async -> Story {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        let child = ChildProcess(program: "RemoteWriter", arguments)
        let lines = child.lines(waitingSeconds: 600)
        continuation.resume(returning: Story(lines: lines, end: child.wait()))
      }
    }
  }
}
