@testable import ReplayTool

/// Bytes in memory, as a source.
final class MemorySource: ByteSource {
  let name: String
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8], name: String = "standard input") {
    rest = bytes[...]
    self.name = name
  }

  func read(upTo count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}
