package import ChildProcesses
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension ChildProcess {
  /// Starts a program that is built beside the tests.
  ///
  /// - Parameters:
  ///   - umask: what its files do without, in octal digits; nil for this process's own.
  ///   - takesInput: whether it reads what is sent to it.
  package convenience init(
    program: String, umask: String? = nil, takesInput: Bool = false, _ arguments: [String]
  ) {
    var path = Self.path(of: program)
    var arguments = arguments
    if let umask {
      arguments = ["-c", "umask \(umask) && exec \"$0\" \"$@\"", path] + arguments
      path = "/bin/sh"
    }
    do {
      // A backtrace would cost a second at each planned crash.
      try self.init(
        path: path, arguments, environment: ["SWIFT_BACKTRACE=enable=no", "TMPDIR=/tmp"],
        takesInput: takesInput)
    } catch {
      preconditionFailure("\(path) cannot be started: error \(error.number)")
    }
  }

  /// Runs a body that waits for a process, on a thread that no task needs: blocking one of the few threads of
  /// tasks would stop all others.
  package static func onThread<R: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> R
  ) async throws(Failure) -> R {
    let result: Result<R, Failure> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }

  /// Beside the tests' own program, or some directories above it.
  private static func path(of program: String) -> String {
    var directory = CommandLine.arguments[0]
    for argument in CommandLine.arguments where argument.hasSuffix(".xctest") { directory = argument }
    while let slash = directory.lastIndex(of: "/") {
      directory = String(directory[..<slash])
      if access("\(directory)/\(program)", X_OK) == 0 { return "\(directory)/\(program)" }
    }
    preconditionFailure("the program \(program) is not beside \(CommandLine.arguments)")
  }
}
