import Foundation

/// The order of each target's folders, from the page Architecture: arrows run only from right to left.
struct FolderOrder {
  static let page = "Sources/Internals/Internals.docc/Architecture.md"

  /// The folders of each target, lowest first. The target's own folder is `.` on the page, and empty here.
  var folders: [String: [String]] = [:]

  /// Reads the lines `Target: A ◀ B ◀ C` of the page; a line that starts with `◀` continues the previous one.
  init(repository: String) throws {
    let text = try String(contentsOfFile: "\(repository)/\(Self.page)", encoding: .utf8)
    var target: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var rest = line.trimmingCharacters(in: .whitespaces)
      if let colon = rest.firstIndex(of: ":"), rest.contains("◀"), !rest.hasPrefix("◀") {
        target = String(rest[..<colon])
        rest = String(rest[rest.index(after: colon)...])
      } else if !rest.hasPrefix("◀") {
        target = nil
      }
      guard let target else { continue }
      let names = rest.split(separator: "◀").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
        !$0.isEmpty
      }
      folders[target, default: []] += names.map { $0 == "." ? "" : $0 }
    }
  }
}
