package import ChildProcesses

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension ChildProcess {
  /// Starts a program that is built beside the tests.
  package convenience init(program: String, _ arguments: [String]) {
    let path = Self.path(of: program)
    do {
      // A backtrace would cost a second at each planned crash.
      try self.init(path: path, arguments, environment: ["SWIFT_BACKTRACE=enable=no", "TMPDIR=/tmp"])
    } catch {
      preconditionFailure("\(path) cannot be started: error \(error.number)")
    }
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
