import Synchronization

/// A stream of text to the user. It is buffered, and coloured if the user sees colours.
///
/// A command prints only through it, so that tests can read the output.
final class Output: Sendable {
  /// How many printed bytes may wait in memory, so that one system call writes many lines.
  private static let bufferBytesMax = 1 << 16

  /// Whether a person reads the output as it appears.
  let isTerminal: Bool
  /// Whether styles are printed.
  let usesColor: Bool
  private let sink: any OutputSink
  private let buffer = Mutex<[UInt8]>([])

  init(_ sink: any OutputSink, isTerminal: Bool, usesColor: Bool) {
    self.sink = sink
    self.isTerminal = isTerminal
    self.usesColor = usesColor
  }

  /// Prints a line.
  func line(_ text: String = "") throws { try write(Array(text.utf8) + [UInt8(ascii: "\n")]) }

  /// Prints text without a line end.
  func text(_ text: String) throws { try write(Array(text.utf8)) }

  /// Prints a line of UTF-8.
  func line(_ utf8: [UInt8]) throws { try write(utf8 + [UInt8(ascii: "\n")]) }

  /// Prints bytes as they are.
  func bytes(_ bytes: [UInt8]) throws { try write(bytes) }

  /// Prints a JSON document as one line.
  func line(_ json: JSON) throws {
    var bytes: [UInt8] = []
    json.write(to: &bytes)
    try line(bytes)
  }

  /// Writes the waiting bytes.
  func flush() throws { try buffer.withLock { bytes in try drain(&bytes) } }

  /// A text in a style, if styles are printed.
  func styled(_ text: String, _ style: Style) -> String {
    usesColor && style != .plain && !text.isEmpty ? "\u{1B}[\(style.code)m\(text)\u{1B}[0m" : text
  }

  private func write(_ text: [UInt8]) throws {
    try buffer.withLock { bytes in
      bytes.append(contentsOf: text)
      if bytes.count >= Self.bufferBytesMax { try drain(&bytes) }
    }
  }

  private func drain(_ bytes: inout [UInt8]) throws {
    guard !bytes.isEmpty else { return }
    defer { bytes.removeAll(keepingCapacity: true) }
    try sink.write(bytes)
  }
}
