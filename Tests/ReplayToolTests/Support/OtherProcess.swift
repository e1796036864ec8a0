import ChildProcesses
import Foundation
import StoreTesting

@testable import ReplayTool

/// Programs that tests start and wait for, including the command as it was built beside them.
enum OtherProcess {
  /// The path of the command; nil if it was not built.
  static var replay: String? {
    let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("replay").path
    return FileManager.default.isExecutableFile(atPath: beside) ? beside : nil
  }

  /// Runs a program without input to its end, on a thread that no task needs.
  ///
  /// - Parameters:
  ///   - environment: its whole environment.
  ///   - takesErrors: whether its errors are part of its output.
  static func run(
    _ path: String, _ arguments: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment, takesErrors: Bool = false
  ) async throws -> (output: String, exit: Int32) {
    try await ChildProcess.onThread {
      let process = try ChildProcess(
        path: path, arguments, environment: environment.map { "\($0.key)=\($0.value)" },
        errors: takesErrors ? .output : .file("/dev/null"))
      let output = String(decoding: process.receiveAll(), as: UTF8.self)
      return (output, process.wait().status)
    }
  }
}

extension ChildProcess.End {
  /// The status as in a shell.
  var status: Int32 {
    switch self {
    case .exit(let code): code
    case .signal(let number): 128 + number
    }
  }
}
