#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file that gets its name when it is whole: until then it is beside it, with `.partial` after the name.
final class PartialFile {
  let output: Output
  private let path: String
  private let partialPath: String
  private var descriptor: Int32

  init(_ path: String) throws {
    self.path = path
    partialPath = path + ".partial"
    descriptor = open(partialPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      throw ToolError.input(
        "fileUnwritable", "“\(path)” cannot be written: \(String(cString: strerror(errno)))",
        hint: "give a path in a directory that may be written")
    }
    output = Output(
      DescriptorSink(descriptor: descriptor, name: "“\(path)”"), isTerminal: false, usesColor: false)
  }

  /// Gives the file its name. Without this, what was written goes away.
  func finish() throws {
    try output.flush()
    let failed = fsync(descriptor) != 0 || close(descriptor) != 0 || rename(partialPath, path) != 0
    let code = errno
    descriptor = -1
    guard !failed else {
      unlink(partialPath)
      throw ToolError(
        "fileUnwritable", "“\(path)” cannot be written: \(String(cString: strerror(code)))",
        hint: "check the space on the disk, and that the directory may be written")
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(partialPath)
  }
}
