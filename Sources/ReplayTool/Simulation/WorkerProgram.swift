import ChildProcesses
import Foundation
import StoreTesting

/// This program, as one that can be started again.
struct WorkerProgram {
  /// Its file.
  var path: String

  /// What runs at the moment, even if its file was replaced since.
  static var current: WorkerProgram {
    #if os(Linux)
      WorkerProgram(path: "/proc/self/exe")
    #else
      WorkerProgram(path: Bundle.main.executablePath ?? CommandLine.arguments[0])
    #endif
  }

  /// Starts it, apart from interrupts of the keyboard.
  func start(_ arguments: [String], errors: String) throws -> ChildProcess {
    // Every process hashes by a seed of its own, and says in one line why it ends.
    let settings = ["SWIFT_DETERMINISTIC_HASHING", "SWIFT_BACKTRACE"]
    let environment = ProcessInfo.processInfo.environment.filter { !settings.contains($0.key) }
    do throws(ChildProcess.Refusal) {
      return try ChildProcess(
        path: path, arguments,
        environment: environment.map { "\($0.key)=\($0.value)" } + ["SWIFT_BACKTRACE=enable=no"],
        errors: .file(errors), takesInput: true, isApart: true)
    } catch {
      throw ToolError(
        "workerRefused", "no worker process can be started: \(String(cString: strerror(error.number)))",
        hint: "end other programs, or give --jobs 1")
    }
  }
}
