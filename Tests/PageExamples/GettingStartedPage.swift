import StoreTesting
import Testing

@testable import GettingStarted

@Suite("The program of the page Getting started")
struct GettingStartedPage {
  @Test("syncs two devices")
  func syncs() async throws {
    let directory = TemporaryDirectory()
    func run(_ device: String, adding title: String?) async throws -> [String] {
      try await Errands.sync(device, adding: title, in: directory.path)
    }
    #expect(try await run("laptop", adding: "Buy milk") == ["Buy milk"])
    #expect(try await run("phone", adding: "Post the letter") == ["Buy milk", "Post the letter"])
    #expect(try await run("laptop", adding: nil) == ["Buy milk", "Post the letter"])
  }
}
