import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes a file that appears only when it is complete. Until then it is beside its place, under a temporary
/// name.
///
/// An existing device or pipe at the path is not replaced: the bytes are written to it directly.
final class PartialFile {
  let output: Output
  private let path: String
  /// The temporary path; nil if the file is written directly.
  private let partialPath: String?
  private var descriptor: Int32

  init(_ path: String) throws {
    self.path = Self.resolved(path)
    guard !Self.isOfStore(self.path) else {
      throw ToolError.input(
        "fileUnwritable", "“\(path)” is a file of a store", hint: "name another file, outside the store")
    }
    if Self.isReplaceable(self.path) {
      let partialPath = "\(self.path).partial-\(getpid())"
      descriptor = open(partialPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      self.partialPath = partialPath
    } else {
      descriptor = open(self.path, O_WRONLY | O_CLOEXEC)
      partialPath = nil
    }
    guard descriptor >= 0 else {
      let code = errno
      throw ToolError.input(
        "fileUnwritable", "“\(path)” cannot be written: \(String(cString: strerror(code)))",
        hint: code == EISDIR
          ? "name a file in that directory" : "give a path in a directory that may be written")
    }
    output = Output(
      DescriptorSink(descriptor: descriptor, name: "“\(path)”"), isTerminal: false, usesColor: false)
  }

  /// Whether it is one of the files of a store, which other content would destroy.
  private static func isOfStore(_ path: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard let name = parts.last, StoreFiles.names.contains(String(name)) else { return false }
    return access((parts.dropLast() + ["data.mdb"]).joined(separator: "/"), F_OK) == 0
  }

  /// Gives the file its name. Without this call, the written bytes are deleted.
  func finish() throws {
    try output.flush()
    guard let partialPath else { return }
    guard fsync(descriptor) == 0, rename(partialPath, path) == 0 else {
      throw ToolError(
        "fileUnwritable", "“\(path)” cannot be written: \(String(cString: strerror(errno)))",
        hint: "check the space on the disk, and that the directory may be written")
    }
    close(descriptor)
    descriptor = -1
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    if let partialPath { unlink(partialPath) }
  }

  /// The path after resolving links; the path itself if nothing exists there.
  private static func resolved(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  /// Whether nothing exists at the path, or a regular file.
  private static func isReplaceable(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
  }
}
