import Dispatch
import Foundation

@testable import ReplayTool

/// Programs that tests start and wait for, the command as it was built beside them among them.
enum OtherProcess {
  /// The path of the command, nil where it was not built.
  static var replay: String? {
    let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("replay").path
    return FileManager.default.isExecutableFile(atPath: beside) ? beside : nil
  }

  /// Runs a program to its end, on a thread that no task needs: a test that blocked one of the few threads of tasks would
  /// hold up all others.
  ///
  /// - Parameters:
  ///   - environment: all of its environment; nil for this process's.
  ///   - takesErrors: whether what it says of errors is part of its output.
  static func run(
    _ path: String, _ arguments: [String], environment: [String: String]? = nil, takesErrors: Bool = false
  ) async throws -> (output: String, exit: Int32) {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
            if let environment { process.environment = environment }
            let pipe = Pipe()
            process.standardOutput = pipe
            if takesErrors { process.standardError = pipe }
            process.standardInput = FileHandle.nullDevice
            try process.run()
            let output = pipe.fileHandleForReading.readDataToEndOfFile()
            return (String(decoding: output, as: UTF8.self), process.exitStatus())
          })
      }
    }
  }
}
