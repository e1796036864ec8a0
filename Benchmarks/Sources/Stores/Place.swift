import Foundation

/// A directory for stores.
package struct Place {
  package var path: String

  package init(path: String) { self.path = path }

  /// Creates a new directory in it.
  package func inner() -> Place {
    let inner = Place(path: "\(path)/\(UUID().uuidString.prefix(8))")
    try? FileManager.default.createDirectory(atPath: inner.path, withIntermediateDirectories: true)
    return inner
  }

  package func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a directory in it that is not there.
  package func empty(_ name: String) throws -> String {
    let target = "\(path)/\(name)"
    try? FileManager.default.removeItem(atPath: target)
    return target
  }

  /// Copies a directory into it, replacing an earlier copy with the same name.
  package func copy(_ directory: String, as name: String) throws -> String {
    let target = "\(path)/\(name)"
    try? FileManager.default.removeItem(atPath: target)
    try FileManager.default.copyItem(atPath: directory, toPath: target)
    return target
  }
}
