import Foundation

/// The sources with all mutants. The place of each is found in the unchanged sources, so that no two depend
/// on each other.
struct MutantTree {
  /// The changed files, by path in the repository.
  private(set) var files: [String: String] = [:]

  private struct Placed {
    var start: Int
    var count: Int
    var added: [String]
    var mutant: String
  }

  init(repository: String, _ mutants: [Mutant]) throws {
    var edits: [String: [(edit: Mutant.Edit, mutant: String)]] = [:]
    for mutant in mutants {
      for edit in mutant.edits { edits[edit.file, default: []].append((edit, mutant.name)) }
    }
    for (file, edits) in edits {
      guard let text = try? String(contentsOfFile: "\(repository)/\(file)", encoding: .utf8) else {
        throw HouseError(
          "\(edits[0].mutant).patch names \(file), which is not there",
          hint: "name the file that the code moved to")
      }
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      files[file] = try Self.apply(edits, to: lines, file).joined(separator: "\n")
    }
  }

  private static func apply(
    _ edits: [(edit: Mutant.Edit, mutant: String)], to lines: [String], _ file: String
  ) throws -> [String] {
    var placed: [Placed] = []
    for (edit, mutant) in edits {
      let start = try place(of: edit, in: lines, mutant) + edit.firstRemoved
      // Some bugs share a change: it is made once.
      if placed.contains(where: {
        $0.start == start && $0.count == edit.removedCount && $0.added == edit.added
      }) {
        continue
      }
      placed.append(Placed(start: start, count: edit.removedCount, added: edit.added, mutant: mutant))
    }
    placed.sort { ($0.start, $0.mutant) < ($1.start, $1.mutant) }
    for (one, next) in zip(placed, placed.dropFirst()) where one.start + one.count > next.start {
      throw HouseError(
        "\(one.mutant).patch and \(next.mutant).patch both replace line \(next.start + 1) of \(file)",
        hint: "let one of them add a line instead")
    }
    var result: [String] = []
    var index = 0
    for one in placed {
      result += lines[index..<one.start] + one.added
      index = one.start + one.count
    }
    return result + lines[index...]
  }

  /// The first line of an edit's place, from 0: the stated place, or else the only other one that matches.
  private static func place(of edit: Mutant.Edit, in lines: [String], _ mutant: String) throws -> Int {
    let count = edit.before.count
    func fits(_ start: Int) -> Bool {
      start >= 0 && start + count <= lines.count && lines[start..<start + count].elementsEqual(edit.before)
    }
    if fits(edit.line) { return edit.line }
    let places = lines.indices.filter(fits)
    guard places.count == 1 else {
      throw HouseError(
        "\(mutant).patch fits at \(places.count) places of \(edit.file), and not at line \(edit.line + 1):\n"
          + edit.before.joined(separator: "\n"),
        hint: "write it again for the code as it is now")
    }
    return places[0]
  }

  /// Writes the sources with the mutants, their helpers and the list of their names below a directory.
  /// Unchanged files keep their time, so that a build there compiles only changed ones.
  static func write(repository: String, to directory: String) throws {
    let mutants = try Mutant.all(in: repository)
    var files = try MutantTree(repository: repository, mutants).files
    let helpers = "\(Mutant.directory)/Helpers"
    for path in try swiftFiles(below: "\(repository)/\(helpers)") {
      files[path] = try String(contentsOfFile: "\(repository)/\(helpers)/\(path)", encoding: .utf8)
    }
    files["Sources/OperationFormat/PlantedBug.swift"] = list(mutants)
    var wanted = Set(files.keys)
    for part in ["Sources", "Tests", "Examples/Sources", "Package.swift", "Package.resolved"] {
      for path in try allFiles(of: part, in: repository) where wanted.insert(path).inserted {
        try copy("\(repository)/\(path)", to: "\(directory)/\(path)")
      }
    }
    for (path, text) in files { try put(Data(text.utf8), at: "\(directory)/\(path)") }
    for part in ["Sources", "Tests", "Examples/Sources"] {
      for path in try allFiles(of: part, in: directory) where !wanted.contains(path) {
        try FileManager.default.removeItem(atPath: "\(directory)/\(path)")
      }
    }
  }

  /// The enumeration with which the mutants check which of them is active in this process.
  private static func list(_ mutants: [Mutant]) -> String {
    let cases = mutants.map { "  /// \($0.summary)\n  case \($0.name)\n" }.joined()
    return """
      #if canImport(Glibc)
        import Glibc
      #else
        import Darwin
      #endif

      /// The known bugs. The environment variable `PLANTED_BUG` selects the one of a process.
      package enum PlantedBug: String {
      \(cases)
        private static let planted = getenv("PLANTED_BUG").flatMap { PlantedBug(rawValue: String(cString: $0)) }

        package var isPlanted: Bool { Self.planted == self }
      }

      """
  }

  private static func swiftFiles(below directory: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory).filter { $0.hasSuffix(".swift") }
  }

  /// The files below a part of a tree, or the part itself if it is a file, as paths in the tree.
  private static func allFiles(of part: String, in root: String) throws -> [String] {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: "\(root)/\(part)", isDirectory: &isDirectory) else {
      return []
    }
    guard isDirectory.boolValue else { return [part] }
    return try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(part)").filter {
      var isDirectory: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(root)/\(part)/\($0)", isDirectory: &isDirectory)
        && !isDirectory.boolValue
    }.map { "\(part)/\($0)" }
  }

  private static func copy(_ from: String, to path: String) throws {
    try put(try Data(contentsOf: URL(filePath: from)), at: path)
  }

  private static func put(_ data: Data, at path: String) throws {
    if let known = FileManager.default.contents(atPath: path), known == data { return }
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url)
  }
}
