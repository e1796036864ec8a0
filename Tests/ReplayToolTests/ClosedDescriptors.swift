import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("A command whose standard input, output or error is closed")
struct ClosedDescriptors {
  private let temporary = TemporaryDirectory()

  /// Without a guard the data file gets the number of standard output, and the output goes into its first page.
  @Test("writes nothing into a store's files", arguments: [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
  func storeIsSound(_ redirection: String) async throws {
    let replay = try #require(OtherProcess.replay)
    let store = temporary.path + "/store"
    let opened = try LocalStore(directory: store, durability: .durable)
    let milk = RecordID(zone: ZoneID(name: "home"), name: "milk")
    try await opened.write { tx in
      try tx.createZone(milk.zone)
      try tx.create(milk, type: "task", fields: ["title": "Milk"])
    }
    opened.close()
    let remote = "folder:\(temporary.path)/remote"
    for command in [
      "sync \(store) --remote \(remote) --create-remote --attach home", "rebuild \(store)", "info \(store)",
    ] {
      let shell = "exec '\(replay)' \(command) \(redirection)"
      let run = try await OtherProcess.run("/bin/sh", ["-c", shell])
      #expect(run.exit == 1, "\(command): the output was not written")
    }
    let read = try LocalStore(directory: store, durability: .durable)
    #expect(try read.verify().isSound)
    #expect(try read.read { try $0.value(of: "title", in: milk) } == "Milk")
    #expect(try read.read { try $0.pendingCount(in: milk.zone) } == 0, "it was synced")
    read.close()
  }
}
