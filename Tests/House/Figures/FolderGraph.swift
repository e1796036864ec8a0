/// Which folders and files of a target refer to types that others declare.
struct FolderGraph {
  /// The use, in one place, of a type that another place declares.
  struct Arrow {
    var from: String
    var to: String
    /// The types used, each with a file that uses it.
    var uses: [(type: String, file: String)]
  }

  /// Arrows between folders, ordered by name.
  var folders: [Arrow] = []
  /// Folders that have Swift files.
  var names: [String]
  var largestFolderCycle: [String]
  var largestFileCycle: [String]

  init(_ tree: SourceTree) {
    // Types at the top level of files. A name that two folders declare is ignored.
    var homes: [String: Set<Int>] = [:]
    for (index, file) in tree.files.enumerated() {
      for one in file.declarations where one.isType && one.path.isEmpty {
        homes[one.name, default: []].insert(index)
      }
    }
    var uses: [String: [String: [(type: String, file: String)]]] = [:]
    var fileEdges: [String: Set<String>] = [:]
    for file in tree.files {
      // A nested type hides another type with its name.
      let own = Set(file.declarations.filter(\.isType).map(\.name))
      for word in Set(Token.all(in: file.code).map(\.text)).subtracting(own) {
        guard let home = homes[word], home.count == 1, let index = home.first else { continue }
        let other = tree.files[index]
        guard other.path != file.path else { continue }
        fileEdges[file.path, default: []].insert(other.path)
        if other.folder != file.folder {
          uses[file.folder, default: [:]][other.folder, default: []].append((word, file.path))
        }
      }
    }
    names = Set(tree.files.map(\.folder)).sorted()
    for (from, others) in uses.sorted(by: { $0.key < $1.key }) {
      for (to, used) in others.sorted(by: { $0.key < $1.key }) {
        folders.append(
          Arrow(from: from, to: to, uses: used.sorted { ($0.type, $0.file) < ($1.type, $1.file) }))
      }
    }
    let folderEdges = Dictionary(grouping: folders, by: \.from).mapValues { Set($0.map(\.to)) }
    largestFolderCycle = Self.largestCycle(folderEdges)
    largestFileCycle = Self.largestCycle(fileEdges)
  }

  /// Pairs of folders that refer to each other.
  var mutualPairs: [(String, String)] {
    let all = Set(folders.map { [$0.from, $0.to] })
    return folders.filter { $0.from < $0.to && all.contains([$0.to, $0.from]) }.map { ($0.from, $0.to) }
  }

  /// The arrows against an order of folders, lowest first.
  func arrowsBack(in order: [String]) -> [Arrow] {
    let places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    return folders.filter { places[$0.from, default: -1] < places[$0.to, default: .max] }
  }

  /// The largest strongly connected component of more than one node (Tarjan, 1972).
  private static func largestCycle(_ edges: [String: Set<String>]) -> [String] {
    var search = ComponentSearch(edges: edges)
    for node in edges.keys.sorted() where search.indexes[node] == nil { search.visit(node) }
    return search.largest
  }

  private struct ComponentSearch {
    let edges: [String: Set<String>]
    var indexes: [String: Int] = [:]
    private var lows: [String: Int] = [:]
    private var stack: [String] = []
    private var stacked: Set<String> = []
    var largest: [String] = []

    init(edges: [String: Set<String>]) { self.edges = edges }

    mutating func visit(_ node: String) {
      indexes[node] = indexes.count
      lows[node] = indexes[node]
      stack.append(node)
      stacked.insert(node)
      for next in edges[node, default: []].sorted() {
        if indexes[next] == nil {
          visit(next)
          lows[node] = min(lows[node]!, lows[next]!)
        } else if stacked.contains(next) {
          lows[node] = min(lows[node]!, indexes[next]!)
        }
      }
      guard lows[node] == indexes[node] else { return }
      var component: [String] = []
      repeat {
        component.append(stack.removeLast())
        stacked.remove(component.last!)
      } while component.last != node
      if component.count > max(1, largest.count) { largest = component.sorted() }
    }
  }
}
