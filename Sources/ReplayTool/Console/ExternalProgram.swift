import ChildProcesses
import Foundation

/// An external command failed.
struct ProcessFailure: Error {
  /// The first line of its errors.
  var message: String
}

/// One run of an external command, such as git. Its output is a source of bytes.
final class ExternalProgram: ByteSource {
  let name: String
  private let process: ChildProcess

  /// - Parameters:
  ///   - executable: the path of the command.
  ///   - name: its name, for messages and error codes: “git” gives `gitMissing`.
  ///   - arguments: its arguments.
  ///   - environment: its whole environment.
  ///   - takesInput: whether it reads what ``write(_:)`` sends.
  init(
    _ executable: String, name: String, _ arguments: [String], environment: [String: String],
    takesInput: Bool = false
  ) throws {
    self.name = name
    do throws(ChildProcess.Refusal) {
      process = try ChildProcess(
        path: executable, arguments, environment: environment.map { "\($0.key)=\($0.value)" }, errors: .kept,
        takesInput: takesInput)
    } catch {
      throw ToolError.input(
        "\(name)Missing",
        "the command “\(executable)” cannot be run: \(String(cString: strerror(error.number)))",
        hint: "install \(name), or add its directory to PATH")
    }
  }

  func read(upTo count: Int) -> [UInt8] { process.receive(upTo: count) }

  /// Sends text to the process.
  func write(_ text: String) throws {
    guard process.send(Array(text.utf8)) else { throw ProcessFailure(message: "it ended early") }
  }

  /// A short output as a whole, without the end of its line.
  func text() throws -> String {
    var bytes = process.receiveAll()
    try finish()
    while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits for the end of the process. The output must have been read to its end.
  func finish() throws {
    process.endInput()
    let status: String
    switch process.wait() {
    case .exit(0): return
    case .exit(let code): status = "it ended with \(code)"
    case .signal(let number): status = "it was ended by signal \(number)"
    }
    throw ProcessFailure(
      message: process.errorText.split(separator: "\n").first.map(String.init) ?? status)
  }

  /// The path of a command, looked up in `PATH`.
  static func lookUp(_ name: String) throws -> String {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    for directory in path.split(separator: ":") {
      let candidate = "\(directory)/\(name)"
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
    }
    throw ToolError.input(
      "\(name)Missing", "the command \(name) is missing",
      hint: "install \(name), or add its directory to PATH")
  }
}
