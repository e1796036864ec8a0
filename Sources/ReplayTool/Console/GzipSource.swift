import Foundation

/// The output of `gzip` for a compressed file.
final class GzipSource: ByteSource {
  let name: String
  private let process: ExternalProgram
  private var isAtEnd = false

  init(_ path: String) throws {
    name = "“\(path)”"
    process = try ExternalProgram(
      try ExternalProgram.lookUp("gzip"), name: "gzip", ["-dc", "--", path],
      environment: ProcessInfo.processInfo.environment)
  }

  func read(upTo count: Int) throws -> [UInt8] {
    guard !isAtEnd else { return [] }
    let bytes = process.read(upTo: count)
    guard bytes.isEmpty else { return bytes }
    isAtEnd = true
    do {
      try process.finish()
    } catch let failure as ProcessFailure {
      throw ToolError.input(
        "fileUnreadable", "\(name) cannot be unpacked: \(failure.message)", hint: "check it with `gzip -t`")
    }
    return []
  }
}
