import ChildProcesses
import StoreTesting

extension ChildProcess {
  /// Starts `CrashWriter`.
  convenience init(_ arguments: String...) { self.init(program: "CrashWriter", arguments) }
}
