import Foundation

/// The checkout that these tests were built from.
enum Repository {
  static let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// A directory for one test, removed at its end.
  static func withDirectory<R>(_ body: (String) throws -> R) throws -> R {
    let url = FileManager.default.temporaryDirectory.appending(path: "house-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    return try body(url.path)
  }

  /// Writes files below a directory.
  static func write(_ files: [String: String], below directory: String) throws {
    for (path, text) in files {
      let url = URL(filePath: "\(directory)/\(path)")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
  }
}
