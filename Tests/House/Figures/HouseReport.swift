import Foundation

/// Figures that show how easy the sources are to work with.
struct HouseReport {
  private let trees: [SourceTree]
  private let graphs: [(target: String, graph: FolderGraph)]
  private let order: FolderOrder
  private let sites: DispatchSites
  private let types: TypeSizes
  private let repository: String

  static let lineWidthMax = 110
  static let typeLinesMax = 600
  static let fileLinesMax = 400
  /// Words to avoid in comments and messages, because the field has standard terms.
  static let words = [
    "lies", "alone", "anew", "at hand", "whoever", "is told", "were told", "for ever", "goes on", "goes by",
    "taken for", "stands for", "all the same", "so many",
  ]

  init(repository: String) throws {
    self.repository = repository
    trees = try SourceTree.all(below: "\(repository)/Sources")
    graphs = trees.map { ($0.target, FolderGraph($0)) }
    order = try FolderOrder(repository: repository)
    sites = DispatchSites(trees, kinds: Kinds(trees))
    types = TypeSizes(trees)
  }

  func text(all: Bool) -> String {
    var lines: [String] = []
    lines.append("folders\tof each target; no arrow may run back (`House report --all` lists all arrows)")
    for (target, graph) in graphs {
      let back = graph.arrowsBack(in: order.folders[target] ?? [])
      lines.append(
        "  \(target)\t\(graph.names.count) folders, \(graph.mutualPairs.count) pairs that refer to each other, "
          + "\(back.count) arrows back; largest cycle: \(graph.largestFolderCycle.count) folders, "
          + "\(graph.largestFileCycle.count) files")
      let shown = all ? graph.folders : back
      for arrow in shown { lines.append("    " + Self.text(of: arrow)) }
    }
    lines.append("kinds\tplaces in the code that decide by the kind of a field or an operation")
    for (target, count, silent) in siteCounts where count > 0 {
      lines.append(
        "  \(target)\t\(count), of which the compiler misses \(silent) when a kind is added")
    }
    if all {
      for site in sites.sites {
        lines.append("    \(site.isEnforced ? " " : "!") \(site.target)/\(site.file):\(site.line)")
      }
    }
    lines.append(
      "types\tthe largest, over all their files; \(largeTypes.count) have over \(Self.typeLinesMax) lines")
    for size in types.sizes.prefix(max(12, largeTypes.count)) {
      lines.append(
        "  \(size.target).\(size.name)\t\(size.lines) lines in \(size.files.count) files of "
          + "\(size.folders.count) folders, \(size.functions) functions"
      )
    }
    lines.append("access\tdeclarations of each target")
    for (target, isPublic, isPackage) in accesses {
      lines.append("  \(target)\t\(isPublic) public, \(isPackage) package")
    }
    lines.append("lines\tof the sources")
    lines.append("  of Swift in Sources\t\(trees.flatMap(\.files).map(\.lineCount).reduce(0, +))")
    lines.append("  over \(Self.lineWidthMax) columns\t\(wideLineCount)")
    lines.append("  files over \(Self.fileLinesMax) lines\t\(longFiles.joined(separator: ", "))")
    lines.append(
      "  files with planted bugs\t\(trees.flatMap(\.files).count { $0.text.contains("PLANTED_BUGS") })")
    lines.append(
      "words\tthat the house avoids, and how often they occur: "
        + wordCounts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
    return Self.aligned(lines)
  }

  func json() throws -> String {
    let object: [String: Any] = [
      "folders": Dictionary(
        uniqueKeysWithValues: graphs.map { target, graph in
          (
            target,
            [
              "folders": graph.names.count, "mutualPairs": graph.mutualPairs.count,
              "arrowsBack": graph.arrowsBack(in: order.folders[target] ?? []).count,
              "largestFolderCycle": graph.largestFolderCycle.count,
              "largestFileCycle": graph.largestFileCycle.count,
            ]
          )
        }),
      "dispatchSites": Dictionary(
        uniqueKeysWithValues: siteCounts.map { ($0.target, ["all": $0.count, "notEnforced": $0.silent]) }),
      "types": types.sizes.filter { $0.lines > Self.typeLinesMax }.map {
        [
          "name": "\($0.target).\($0.name)", "lines": $0.lines, "files": $0.files.count,
          "folders": $0.folders.count,
        ]
          as [String: Any]
      },
      "access": Dictionary(
        uniqueKeysWithValues: accesses.map { ($0.target, ["public": $0.isPublic, "package": $0.isPackage]) }),
      "linesOver\(Self.lineWidthMax)": wideLineCount, "longFiles": longFiles,
      "words": Dictionary(uniqueKeysWithValues: wordCounts),
    ]
    let data = try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
    return String(decoding: data, as: UTF8.self)
  }

  // MARK: Figures

  private var siteCounts: [(target: String, count: Int, silent: Int)] {
    trees.map { tree in
      let own = sites.sites.filter { $0.target == tree.target }
      return (tree.target, own.count, own.count { !$0.isEnforced })
    }
  }

  private var largeTypes: [TypeSizes.Size] { types.sizes.filter { $0.lines > Self.typeLinesMax } }

  private var accesses: [(target: String, isPublic: Int, isPackage: Int)] {
    trees.map { tree in
      let all = tree.files.flatMap(\.declarations).filter { $0.keyword != "extension" }
      return (
        tree.target, all.count { ["public", "open"].contains($0.effectiveAccess) },
        all.count { $0.effectiveAccess == "package" }
      )
    }
  }

  private var wideLineCount: Int {
    trees.flatMap(\.files).map { file in
      file.text.split(separator: "\n").count { $0.count > Self.lineWidthMax }
    }.reduce(0, +)
  }

  private var longFiles: [String] {
    trees.flatMap { tree in
      tree.files.filter { $0.lineCount > Self.fileLinesMax }.map { "\(tree.target)/\($0.path)" }
    }
  }

  private var wordCounts: [(String, Int)] {
    Self.words.map { word in
      let expression = try! Regex("\\b\(word)\\b")
      return (word, trees.flatMap(\.files).map { $0.text.matches(of: expression).count }.reduce(0, +))
    }
  }

  // MARK: Text

  /// `from → to: types (a file that uses one)`.
  static func text(of arrow: FolderGraph.Arrow) -> String {
    let from = arrow.from.isEmpty ? "." : arrow.from
    let to = arrow.to.isEmpty ? "." : arrow.to
    let types = Set(arrow.uses.map(\.type)).sorted()
    let more = types.count > 4 ? ", … \(types.count - 4) more" : ""
    return "\(from) → \(to): \(types.prefix(4).joined(separator: ", "))\(more) (\(arrow.uses[0].file))"
  }

  /// Aligns the text after a tab in one column.
  private static func aligned(_ lines: [String]) -> String {
    lines.map { line in
      let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return line }
      return parts[0].padding(toLength: max(parts[0].count, 34), withPad: " ", startingAt: 0) + " " + parts[1]
    }.joined(separator: "\n")
  }
}
