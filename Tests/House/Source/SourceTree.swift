import Foundation

/// The Swift files of one target, with their contents.
struct SourceTree {
  struct File {
    /// The path below the target's folder, such as `Log/LogEntry.swift`.
    var path: String
    var text: String
    /// Only the code: see ``SourceText``.
    var code: [UInt8]
    var declarations: [Declaration]

    /// The folder below the target's; empty for the target's own folder.
    var folder: String { path.contains("/") ? String(path[..<path.lastIndex(of: "/")!]) : "" }
    var lineCount: Int { text.utf8.count { $0 == UInt8(ascii: "\n") } }
  }

  var target: String
  var files: [File]

  /// Reads all files below `root/target`, ordered by path.
  init(root: String, target: String) throws {
    self.target = target
    let directory = "\(root)/\(target)"
    let paths = try FileManager.default.subpathsOfDirectory(atPath: directory).filter {
      $0.hasSuffix(".swift")
    }
    files = try paths.sorted().map { path in
      let text = try String(contentsOfFile: "\(directory)/\(path)", encoding: .utf8)
      let code = SourceText.code(of: text)
      return File(path: path, text: text, code: code, declarations: Declaration.all(in: code))
    }
  }

  /// The targets below a folder of sources, without those that have no Swift files.
  static func all(below root: String) throws -> [SourceTree] {
    let names = try FileManager.default.contentsOfDirectory(atPath: root).sorted()
    return try names.map { try SourceTree(root: root, target: $0) }.filter { !$0.files.isEmpty }
  }
}
