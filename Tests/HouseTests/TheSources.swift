import Foundation
import Testing

@testable import House

@Suite("The sources")
struct TheSources {
  @Test("arrows between folders run one way, in the order of the page Architecture")
  func arrows() throws {
    let order = try FolderOrder(repository: Repository.path)
    for tree in try SourceTree.all(below: "\(Repository.path)/Sources") {
      let graph = FolderGraph(tree)
      guard graph.names.count > 1 else { continue }
      let folders = order.folders[tree.target] ?? []
      #expect(folders.sorted() == graph.names, "\(FolderOrder.page) lists the folders of \(tree.target)")
      for arrow in graph.arrowsBack(in: folders) {
        Issue.record("\(tree.target): \(HouseReport.text(of: arrow)) runs back")
      }
    }
  }

  @Test("all mutants fit together")
  func mutants() throws {
    let mutants = try Mutant.all(in: Repository.path)
    #expect(mutants.count >= 88)
    let tree = try MutantTree(repository: Repository.path, mutants)
    for mutant in mutants {
      // Each mutant needs a line that checks it.
      let asks = "PlantedBug.\(mutant.name).isPlanted"
      let helpers = "\(Repository.path)/\(Mutant.directory)/Helpers"
      let names = try FileManager.default.subpathsOfDirectory(atPath: helpers).filter {
        $0.hasSuffix(".swift")
      }
      let isAskedByHelper = try names.contains {
        try String(contentsOfFile: "\(helpers)/\($0)", encoding: .utf8).contains(asks)
      }
      let isAsked = isAskedByHelper || mutant.edits.contains { $0.added.joined().contains(asks) }
      #expect(isAsked, "\(mutant.name)")
      for edit in mutant.edits { #expect(tree.files[edit.file] != nil) }
    }
  }

  @Test("the public face of each product is the one in its list", arguments: PublicFace.targets)
  func face(_ target: String) throws {
    let face = PublicFace(try SourceTree(root: "\(Repository.path)/Sources", target: target))
    let known = try String(
      contentsOfFile: "\(Repository.path)/\(PublicFace.file(of: target))", encoding: .utf8)
    let before = Set(known.split(separator: "\n").map(String.init))
    let now = Set(face.lines)
    #expect(before.subtracting(now).sorted() == [], "gone; if that is meant: make face")
    #expect(now.subtracting(before).sorted() == [], "new; if that is meant: make face")
  }
}
