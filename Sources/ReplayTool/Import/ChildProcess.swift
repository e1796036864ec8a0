import Foundation

/// A command said no.
struct ProcessFailure: Error {
  /// The first line that it said.
  var message: String
}

/// One run of another command, such as git.
final class ChildProcess {
  let output: any ByteSource
  private let process = Process()
  private let input: FileHandle?
  private let errors = Pipe()
  // The handles close their descriptors when they go.
  private let outputHandle: FileHandle

  /// - Parameters:
  ///   - executable: the path of the command.
  ///   - name: its name, for messages and for the code of an error: “git” gives `gitMissing`.
  ///   - arguments: what it is called with.
  ///   - environment: all of its environment.
  ///   - takesInput: whether ``write(_:)`` gives it something to read.
  init(
    _ executable: String, name: String, _ arguments: [String], environment: [String: String],
    takesInput: Bool = false
  ) throws {
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = environment
    let outputPipe = Pipe()
    let inputPipe = takesInput ? Pipe() : nil
    process.standardOutput = outputPipe
    process.standardError = errors
    process.standardInput = inputPipe ?? FileHandle.nullDevice
    outputHandle = outputPipe.fileHandleForReading
    input = inputPipe?.fileHandleForWriting
    output = DescriptorSource(descriptor: outputHandle.fileDescriptor, name: name, closes: false)
    do {
      try process.run()
    } catch {
      throw ToolError.input(
        "\(name)Missing", "the command “\(executable)” cannot be run",
        hint: "install \(name), or add its directory to PATH")
    }
  }

  deinit { if process.isRunning { process.terminate() } }

  /// Gives the process something to read.
  func write(_ text: String) throws {
    do {
      try input?.write(contentsOf: Data(text.utf8))
    } catch {
      throw ProcessFailure(message: "it ended early")
    }
  }

  /// All of a short output, without the end of its line.
  func text() throws -> String {
    var bytes: [UInt8] = []
    while true {
      let next = try output.read(upTo: 4096)
      if next.isEmpty { break }
      bytes += next
    }
    try finish()
    while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits for the end, which the output must have reached.
  func finish() throws {
    try? input?.close()
    let said = errors.fileHandleForReading.readDataToEndOfFile()
    let status = process.exitStatus()
    guard status == 0 else {
      let text = String(decoding: said, as: UTF8.self)
      throw ProcessFailure(
        message: text.split(separator: "\n").first.map(String.init)
          ?? "it ended with \(status)")
    }
  }

  /// The path of a command, looked up in `PATH`.
  static func lookUp(_ name: String) throws -> String {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    for directory in path.split(separator: ":") {
      let candidate = "\(directory)/\(name)"
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
    }
    throw ToolError.input(
      "\(name)Missing", "the command \(name) is not there",
      hint: "install \(name), or add its directory to PATH")
  }
}
