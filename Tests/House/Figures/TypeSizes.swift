/// The size of types with all their extensions.
struct TypeSizes {
  struct Size {
    var target: String
    var name: String
    var lines = 0
    var files: Set<String> = []
    var folders: Set<String> = []
    var functions = 0
  }

  /// Largest first.
  var sizes: [Size]

  init(_ trees: [SourceTree]) {
    var found: [String: Size] = [:]
    for tree in trees {
      let own = Set(
        tree.files.flatMap { file in file.declarations.filter { $0.isType && $0.path.isEmpty }.map(\.name) })
      for file in tree.files {
        // The lines of a nested type count for the outer type.
        for one in file.declarations where one.path.isEmpty && Declaration.containers.contains(one.keyword) {
          let outer = one.name.split(separator: ".").first.map(String.init) ?? one.name
          guard own.contains(outer) else { continue }
          let key = "\(tree.target).\(outer)"
          var size = found[key] ?? Size(target: tree.target, name: outer)
          size.lines += one.lines.count
          size.files.insert(file.path)
          size.folders.insert(file.folder)
          size.functions += file.declarations.count {
            ($0.keyword == "func" || $0.keyword == "init") && $0.path.first == one.name
              && one.lines.contains($0.lines.lowerBound)
          }
          found[key] = size
        }
      }
    }
    sizes = found.values.sorted { ($1.lines, $0.name) < ($0.lines, $1.name) }
  }
}
