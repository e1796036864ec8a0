import Replicator
import S3Remote
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Addresses of remotes")
struct RemoteAddresses {
  @Test("are parsed")
  func areRead() throws {
    #expect(try RemoteAddress("folder:/a:b").place == .folder("/a:b"))
    #expect(try RemoteAddress("HTTPS://a/b").place == .server("HTTPS://a/b"))
    #expect(try RemoteAddress("s3://lists/a").place == .bucket(S3Address("s3://lists/a")))
  }

  @Test(
    "of unknown kinds are refused",
    arguments: ["", "folder", "folder:", "memory", "memory:", "ftp://x", "/mnt/x", "s4://lists"])
  func areRefused(_ text: String) {
    let error = #expect(throws: RemoteError.self) { try RemoteAddress(text) }
    #expect(error?.code == .schemeUnknown)
    #expect(error?.hint.contains("folder:") == true)
    #expect(text == "memory" || error?.hint.contains("memory") == false)
  }

  @Test("open an existing remote, and create a missing one if requested")
  func open() async throws {
    let directory = TemporaryDirectory()
    let sink = Output(CapturedSink(), isTerminal: false, usesColor: false)
    let console = Console(output: sink, errors: sink, input: { MemorySource([]) })
    let address = try RemoteAddress("folder:\(directory.path)/remote")
    let missing = await #expect(throws: RemoteError.self) { try await address.open(creates: false, console) }
    #expect(missing?.code == .unreachable)
    let made = try await address.open(creates: true, console)
    let opened = try await address.open(creates: false, console)
    let (first, second) = (try await made.zoneEvents(after: nil), try await opened.zoneEvents(after: nil))
    #expect(first == second)
  }
}
