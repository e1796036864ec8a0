import Foundation
import GRDB
import Stores

/// The machine and software of the measurement.
struct Machine: Encodable {
  var processor = "unknown processor"
  var cores = ProcessInfo.processInfo.activeProcessorCount
  var system = ProcessInfo.processInfo.operatingSystemVersionString
  var lmdb = RawStore.version
  var sqlite: String
  /// The kinds of file systems.
  var memory: String
  var disk: String

  init(memory: String, disk: String) throws {
    if let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("model name") }),
      let name = line.split(separator: ":").last
    {
      processor = name.trimmingCharacters(in: .whitespaces)
    }
    sqlite = try DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") ?? "" }
    self.memory = Self.fileSystem(of: memory)
    self.disk = Self.fileSystem(of: disk)
  }

  /// The kind of a path's file system: that of the longest mount point that contains the path.
  private static func fileSystem(of path: String) -> String {
    guard let mounts = try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8) else {
      return "unknown"
    }
    var best = (path: "", kind: "unknown")
    for line in mounts.split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count > 2 else { continue }
      let mount = String(parts[1])
      let isUnder = path == mount || path.hasPrefix(mount == "/" ? mount : mount + "/")
      if isUnder, mount.utf8.count > best.path.utf8.count { best = (mount, String(parts[2])) }
    }
    return best.kind
  }
}
