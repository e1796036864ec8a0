import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

extension ClocksOverFolders {
  /// The greatest time of the heads of a record's title, in milliseconds after the test's start.
  private func latest(_ name: Name, _ peer: Peer) throws -> Int64? {
    let heads = try peer.device.store.read {
      try $0.heads(of: "title", in: RecordID(zone: zone, name: name))
    }
    return heads.map { Int64($0.timestamp.milliseconds) - Self.now }.max()
  }

  @Test(
    "a device of 2099 whose clock is set right writes at once, what it had not sent counts from then on, and all end equal",
    arguments: [false, true], [0, minute] as [Int64])
  func setRight(reopens: Bool, error: Int64) async throws {
    let peers = try await peers(Self.now, Self.year2099, Self.now)
    let (right, wrong, other) = (peers[0], peers[1], peers[2])
    try await right.set("first")
    for peer in peers { try await peer.sync() }
    pass(Self.minute, peers)
    for number in 0..<20 as Range<Int64> { try await wrong.set(.int(number), of: "sent") }
    #expect(try await wrong.sync().isInSync)
    try await wrong.set("of 2099", of: "unsent")
    try await wrong.set("of 2099", of: "contested")

    wrong.clock.milliseconds = place.milliseconds + error
    if reopens { try wrong.device.reopen() }
    pass(Self.minute, peers)
    let corrected = place.milliseconds - Self.now
    try await wrong.set("right again", of: "new")
    // One round takes all of it.
    let report = try await wrong.sync()
    #expect(report.isInSync && report.sent == 3, "\(report)")
    #expect(try wrong.device.pending() == 0)
    // What was written now has about the time that it was, also in the store that wrote in 2099.
    let time = try #require(try latest("new", wrong))
    #expect((corrected...corrected + error + 5 * Self.minute).contains(time), "\(time)")

    // Those who have not seen it, and write later, win over what it wrote in 2099.
    pass(10 * Self.minute, peers)
    try await other.set("ten minutes later", of: "contested")
    try await other.set("ten minutes later", of: "sent")
    try await other.sync()
    // And so does what it writes now, over what it has not seen and is earlier.
    try await right.set("earlier", of: "last")
    pass(10 * Self.minute, peers)
    try await wrong.set("later", of: "last")
    for peer in [wrong, right, other] { try await peer.sync() }
    for peer in peers { #expect(try await peer.sync().isInSync) }
    let digests = try peers.map { try $0.device.digests() }
    #expect(Set(digests).count == 1)
    for peer in peers {
      #expect(try peer.title("contested") == "ten minutes later" && peer.title("sent") == "ten minutes later")
      #expect(try peer.title("unsent") == "of 2099" && peer.title("new") == "right again")
      #expect(try peer.title("last") == "later")
      // Nothing in the state says 2099 any more.
      for name in ["sent", "unsent", "contested", "new", "last"] as [Name] {
        let time = try #require(try latest(name, peer))
        #expect(time < 60 * Self.minute, "\(name)")
      }
      #expect(try peer.device.store.verify().isSound)
    }
  }
}
