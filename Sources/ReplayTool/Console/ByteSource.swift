#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Provides the bytes of a file, from start to end.
protocol ByteSource: AnyObject {
  /// The name for messages.
  var name: String { get }
  /// The next bytes, at least one; empty at the end.
  func read(upTo count: Int) throws -> [UInt8]
  /// The last bytes of the source; nil if they cannot be read before the others.
  func tail(upTo count: Int) -> [UInt8]?
}

extension ByteSource {
  func tail(upTo count: Int) -> [UInt8]? { nil }
}

/// A file descriptor as a source.
final class DescriptorSource: ByteSource {
  let name: String
  private let descriptor: Int32
  private let closes: Bool

  init(descriptor: Int32, name: String, closes: Bool) {
    self.descriptor = descriptor
    self.name = name
    self.closes = closes
  }

  /// Opens a file.
  convenience init(path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ToolError.input(
        "fileUnreadable", "“\(path)” cannot be read: \(String(cString: strerror(errno)))",
        hint: "give the path of a file, or - for standard input")
    }
    self.init(descriptor: descriptor, name: "“\(path)”", closes: true)
  }

  deinit { if closes { close(descriptor) } }

  func read(upTo count: Int) throws -> [UInt8] {
    while true {
      var found = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        found = systemRead(descriptor, buffer.baseAddress!, count)
        initialized = max(0, found)
      }
      if found >= 0 { return bytes }
      guard errno == EINTR else {
        throw ToolError.input(
          "fileUnreadable", "\(name) cannot be read: \(String(cString: strerror(errno)))",
          hint: "give the path of a file, or - for standard input")
      }
    }
  }
}

extension DescriptorSource {
  func tail(upTo count: Int) -> [UInt8]? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let count = min(Int64(count), Int64(status.st_size))
    var found = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, initialized in
      found = pread(descriptor, buffer.baseAddress!, Int(count), off_t(status.st_size) - off_t(count))
      initialized = max(0, found)
    }
    return found == count ? bytes : nil
  }
}

// Outside of the class, because `read` inside it is the method above.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}
