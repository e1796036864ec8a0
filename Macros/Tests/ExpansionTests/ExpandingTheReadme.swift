import Foundation
import Testing

@Suite("The page of the package")
struct ExpandingTheReadme {
  @Test("shows the model that is written")
  func expansion() throws {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let page = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    let blocks = page.split(separator: "```swift\n").dropFirst().map { $0.split(separator: "```")[0] }
    let expansion = Expansion(of: String(blocks[0]))
    #expect(expansion.problems == [])
    let model = blocks[1].split(separator: "\n").map { "  \($0)" }
    #expect(expansion.source.contains(model.joined(separator: "\n")))
  }
}
