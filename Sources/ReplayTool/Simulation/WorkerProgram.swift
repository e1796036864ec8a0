import ChildProcesses
import Foundation
import StoreTesting

/// The program of this process, to start it again.
struct WorkerProgram {
  /// The path of its file.
  var path: String

  /// The program that runs now, even if its file was replaced since.
  static var current: WorkerProgram {
    #if os(Linux)
      WorkerProgram(path: "/proc/self/exe")
    #else
      WorkerProgram(path: Bundle.main.executablePath ?? CommandLine.arguments[0])
    #endif
  }

  /// Starts the program. An interrupt from the keyboard does not reach it.
  func start(_ arguments: [String], errors: String) throws -> ChildProcess {
    // Each process uses its own hash seed, and prints one line if it crashes.
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
