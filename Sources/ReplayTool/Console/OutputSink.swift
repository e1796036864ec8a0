#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Takes the bytes that a command prints.
protocol OutputSink: Sendable {
  /// Writes all of the bytes.
  ///
  /// - Throws: ``OutputClosed`` when nobody reads any more, ``ToolError`` otherwise.
  func write(_ bytes: [UInt8]) throws
}

/// Nobody reads what is printed any more: `replay log … | head` does that. It is no failure.
struct OutputClosed: Error {}

/// A file descriptor as a sink: standard output, standard error or a file.
struct DescriptorSink: OutputSink {
  let descriptor: Int32
  /// What the descriptor is, for messages.
  let name: String

  func write(_ bytes: [UInt8]) throws {
    var start = 0
    while start < bytes.count {
      let written = bytes.withUnsafeBytes {
        systemWrite(descriptor, $0.baseAddress! + start, $0.count - start)
      }
      if written >= 0 {
        start += written
        continue
      }
      switch errno {
      case EINTR: continue
      case EPIPE: throw OutputClosed()
      case let code:
        throw ToolError(
          "outputFailed", "\(name) cannot be written: \(String(cString: strerror(code)))",
          hint: "check the space on the disk, or print to another place")
      }
    }
  }
}

// `write` alone names the method above.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
