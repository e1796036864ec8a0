import Foundation

/// A known bug as a patch: a sentence that says what the bug does, and a unified diff against the sources.
///
/// ```
/// The clock returns the wall clock's time, whatever it returned before.
///
/// Found by 8: two writes in a millisecond, or a remote clock that is ahead.
/// Worlds: assets
///
/// --- a/Sources/OperationFormat/Identifiers/HybridClock.swift
/// +++ b/Sources/OperationFormat/Identifiers/HybridClock.swift
/// @@ -24,6 +24,10 @@
/// …
/// ```
///
/// The numbers after `Found by` are the invariants that find it; then follows what a world must have so that
/// the bug shows. `Worlds: assets` is there if only worlds with assets show it. The added lines check
/// `PlantedBug.clockWithoutMax.isPlanted`, so that all patches fit into one build.
struct Mutant {
  static let directory = "Tests/Mutants"

  var name: String
  var summary: String
  var needsAssets: Bool
  var edits: [Edit]

  /// The change of one run of lines in a file.
  struct Edit: Equatable {
    var file: String
    /// The lines as in the sources, with context.
    var before: [String]
    /// The first removed line of `before`, and how many lines are removed; if none is removed, lines are
    /// added before it.
    var firstRemoved: Int
    var removedCount: Int
    var added: [String]
    /// The line where `before` begins according to the patch, from 0.
    var line: Int
  }

  /// Reads all patches of a repository, ordered by name.
  static func all(in repository: String) throws -> [Mutant] {
    let directory = "\(repository)/\(Self.directory)"
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter {
      $0.hasSuffix(".patch")
    }
    return try names.sorted().map { name in
      let text = try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
      return try Mutant(name: String(name.dropLast(6)), text: text)
    }
  }

  init(name: String, text: String) throws {
    self.name = name
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    summary = lines[0]
    needsAssets = lines.contains("Worlds: assets")
    edits = []
    var file: String?
    var index = 0
    while index < lines.count {
      let line = lines[index]
      index += 1
      if line.hasPrefix("+++ b/") { file = String(line.dropFirst(6)) }
      guard line.hasPrefix("@@ -"), let file else { continue }
      var hunk: [String] = []
      while index < lines.count, let first = lines[index].first, " +-".contains(first),
        !lines[index].hasPrefix("--- a/")
      {
        hunk.append(lines[index])
        index += 1
      }
      let start = Int(line.dropFirst(4).prefix { $0.isNumber }) ?? 1
      edits += try Self.edits(of: hunk, file, from: start - 1, name)
    }
    guard !summary.isEmpty, !edits.isEmpty else {
      throw HouseError("\(name).patch has no summary or changes nothing", hint: "see Mutant for its form")
    }
  }

  /// One edit for each run of lines that a hunk adds or removes.
  private static func edits(of hunk: [String], _ file: String, from start: Int, _ name: String) throws
    -> [Edit]
  {
    let before = hunk.filter { !$0.hasPrefix("+") }.map { String($0.dropFirst()) }
    var edits: [Edit] = []
    var place = 0
    var index = 0
    while index < hunk.count {
      if hunk[index].hasPrefix(" ") {
        place += 1
        index += 1
        continue
      }
      var edit = Edit(
        file: file, before: before, firstRemoved: place, removedCount: 0, added: [], line: start)
      while index < hunk.count, !hunk[index].hasPrefix(" ") {
        if hunk[index].hasPrefix("-") {
          edit.removedCount += 1
        } else {
          edit.added.append(String(hunk[index].dropFirst()))
        }
        index += 1
      }
      place += edit.removedCount
      edits.append(edit)
    }
    guard !edits.isEmpty else {
      throw HouseError("a hunk of \(name).patch for \(file) changes nothing", hint: "remove it")
    }
    return edits
  }
}

/// A problem of these checks themselves, and what to do.
struct HouseError: Error, CustomStringConvertible {
  var message: String
  var hint: String

  init(_ message: String, hint: String) {
    self.message = message
    self.hint = hint
  }

  var description: String { "\(message)\nhint: \(hint)" }
}
