#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Receives the bytes that a command prints.
protocol OutputSink: Sendable {
  /// Writes all of the bytes.
  ///
  /// - Throws: ``OutputClosed`` if nobody reads any more, else ``ToolError``.
  func write(_ bytes: [UInt8]) throws
}

/// Nobody reads the output any more, as after `replay log … | head`. That is not a failure.
struct OutputClosed: Error {}

/// A file descriptor that receives output: standard output, standard error or a file.
struct DescriptorSink: OutputSink {
  let descriptor: Int32
  /// The name of the descriptor, for messages.
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

// Outside of the struct, because `write` inside it is the method above.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
