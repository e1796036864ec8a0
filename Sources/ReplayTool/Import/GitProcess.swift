import Foundation

/// git said no.
struct GitFailure: Error {
  /// The first line that it said.
  var message: String
}

/// One run of the `git` command.
final class GitProcess {
  let output: any ByteSource
  private let process = Process()
  private let input: FileHandle?
  private let errors = Pipe()
  // The handles close their descriptors when they go.
  private let outputHandle: FileHandle

  init(_ executable: String, _ directory: String, _ arguments: [String], takesInput: Bool = false) throws {
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = ["--no-pager", "-C", directory] + arguments
    // A repository that the caller's own git works in must not stand in for the one that was named.
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GIT_") }
    environment["LC_ALL"] = "C"
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    environment["GIT_TERMINAL_PROMPT"] = "0"
    process.environment = environment
    let outputPipe = Pipe()
    let inputPipe = takesInput ? Pipe() : nil
    process.standardOutput = outputPipe
    process.standardError = errors
    process.standardInput = inputPipe ?? FileHandle.nullDevice
    outputHandle = outputPipe.fileHandleForReading
    input = inputPipe?.fileHandleForWriting
    output = DescriptorSource(descriptor: outputHandle.fileDescriptor, name: "git", closes: false)
    do {
      try process.run()
    } catch {
      throw ToolError.input(
        "gitMissing", "the command “\(executable)” cannot be run",
        hint: "install git, or add its directory to PATH")
    }
  }

  deinit { if process.isRunning { process.terminate() } }

  /// Gives the process something to read.
  func write(_ text: String) throws {
    do {
      try input?.write(contentsOf: Data(text.utf8))
    } catch {
      throw GitFailure(message: "it ended early")
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
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      let text = String(decoding: said, as: UTF8.self)
      throw GitFailure(
        message: text.split(separator: "\n").first.map(String.init)
          ?? "it ended with \(process.terminationStatus)")
    }
  }
}
