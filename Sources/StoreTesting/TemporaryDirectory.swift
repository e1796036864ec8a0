#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A directory that is removed, with what is in it, when the last reference to it goes.
public final class TemporaryDirectory: Sendable {
  /// The directory's path.
  public let path: String

  /// Makes a directory of a unique name.
  ///
  /// - Parameter parent: the directory to make it in; where there is one, a memory-backed one is fastest.
  public init(in parent: String = TemporaryDirectory.memoryBacked) {
    var template = Array("\(parent)/tributary-test-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "no directory could be made in \(parent): error \(errno)")
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Copies it under a name into another directory, which is made if there is none. What had the name goes.
  func copy(to directory: String, as name: String) throws {
    let target = "\(directory)/\(name)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    if FileManager.default.fileExists(atPath: target) { try FileManager.default.removeItem(atPath: target) }
    try FileManager.default.copyItem(atPath: path, toPath: target)
  }

  /// Copies another directory to a path where there is nothing yet.
  static func copy(_ directory: String, to path: String) throws {
    try FileManager.default.copyItem(atPath: directory, toPath: path)
  }

  /// Copies a file over another, which stays the same file if it is there.
  static func copyFile(_ path: String, to target: String) throws {
    try Data(contentsOf: URL(fileURLWithPath: path)).write(to: URL(fileURLWithPath: target))
  }

  /// `/dev/shm` where there is one, else `/tmp`.
  public static var memoryBacked: String { access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp" }
}

/// The names in a directory, in any order; none if there is no such directory.
package func namesOfFiles(in path: String) -> [String] {
  (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
}
