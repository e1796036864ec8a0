import EventStore
import Foundation
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

/// The data file of a store, as it was after each commit of a session. In a `consistent` store a power cut may undo the last
/// commits, also those whose transactions were sent. The mark beside it is that of the session: nothing tells the store.
@Suite("A store that a power cut takes back behind what it has sent")
struct StoresThatLoseCommits {
  private let scratch = TemporaryDirectory()

  private static func file(_ name: String, of device: Device) -> URL {
    URL(fileURLWithPath: "\(device.directory)/\(name)")
  }

  /// Takes the last commits of the session back, and opens the store again.
  private func undo(_ commits: Int, of images: [Data], _ device: Device) throws {
    let mark = try Data(contentsOf: Self.file("store.mark", of: device))
    device.store.close()
    // The same file, as a power cut leaves it.
    try images[images.count - 1 - commits].write(to: Self.file("data.mdb", of: device))
    try mark.write(to: Self.file("store.mark", of: device))
    try device.reopen()
  }

  @Test(
    "sends nothing else under the sequences that it has used: it gets back what it lost, or takes another epoch",
    arguments: 1...5, [false, true])
  func undone(commits: Int, writesFirst: Bool) async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let devices = try (1...2).map { try Device(in: scratch.path, "d\($0)", seed: UInt64($0)) }
    let (device, other) = (devices[0], devices[1])
    try await device.set("title", of: "first", to: 0)
    try await settle(devices, remote)
    try device.reopen()
    let identity = device.store.identity

    let images = Mutex([try Data(contentsOf: Self.file("data.mdb", of: device))])
    let directory = device.directory
    let observation = device.store.onCommit {
      guard let image = try? Data(contentsOf: URL(fileURLWithPath: "\(directory)/data.mdb")) else { return }
      images.withLock { $0.append(image) }
    }
    for number in 0..<3 { try await device.set("title", of: Name("sent \(number)"), to: 1) }
    #expect(try await device.sync(remote).zones.first?.sent == 3)
    #expect(try await other.sync(remote).isInSync)
    observation.cancel()
    let all = images.withLock { $0 }
    try #require(all.count > 5)

    try undo(commits, of: all, device)
    // It does not know.
    #expect(device.store.identity == identity)
    let names = try device.recordNames()
    let lost = (0..<3).count { !names.contains("notes:sent \($0)") }
    // The last commits are of the round. Those before are the writes.
    #expect(lost == max(0, commits - (all.count - 4)), "\(all.count) commits")
    if writesFirst { try await device.set("title", of: "after", to: 2) }
    try await settle(devices, remote)
    if !writesFirst { try await device.set("title", of: "after", to: 2) }
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)

    let expected = Set(["first", "sent 0", "sent 1", "sent 2", "after"].map { "notes:\($0)" })
    let isForked = writesFirst && lost > 0
    for device in devices {
      #expect(try device.recordNames() == expected)
      let forks = try device.store.read { try $0.forks(in: zone) }
      #expect(forks.count == (isForked ? 1 : 0), "\(forks)")
    }
    // Who was behind wrote on under another epoch.
    let epochs = try other.store.information().zones[0].replicas.map(\.epoch)
    #expect(epochs.contains(1) == isForked, "\(epochs)")
    for device in devices { device.store.close() }
  }
}
