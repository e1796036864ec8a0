import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

/// The cases of session 202 of WWDC 2019, “Using Core Data With CloudKit”: posts with attachments and tags, on two
/// devices that were offline.
@Suite("Posts, attachments and tags")
struct PostsAttachmentsAndTags {
  private static let post = RecordID(zone: zone, name: "post")
  private static let photo = RecordID(zone: zone, name: "photo")

  private static func tag(_ name: Name) -> Value { .reference(Reference(record: name, rule: .nullify)) }

  private static func reference(to record: RecordID, _ rule: ReferenceRule) -> Value {
    .reference(Reference(record: record.name, rule: rule))
  }

  /// Two devices that have the same post.
  private func devices(_ directory: TemporaryDirectory, _ remote: any RemoteLog) async throws -> [Device] {
    let devices = try [
      Device(in: directory.path, "phone", seed: 1), Device(in: directory.path, "pad", seed: 2),
    ]
    try await devices[0].store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      try tx.create(Self.post, type: "post", fields: ["title": "Journey"])
    }
    try await settle(devices, remote)
    return devices
  }

  /// The result from both devices when they agree.
  private func both<R: Equatable & Sendable>(
    _ devices: [Device], _ remote: any RemoteLog, _ read: (borrowing ReadTransaction) throws -> R
  ) async throws -> R {
    try await settle(devices, remote)
    try await expectAgreement(devices, remote)
    let found = try devices.map { try $0.store.read(read) }
    #expect(found[0] == found[1])
    return found[0]
  }

  @Test(
    "a tag that is added on two devices is one tag, once on the post", arguments: RemotePlace.Kind.allCases)
  func oneTagTwice(_ kind: RemotePlace.Kind) async throws {
    let directory = TemporaryDirectory()
    let remote = try await RemotePlace(kind, in: directory.path).remote
    let devices = try await devices(directory, remote)
    for (device, color) in zip(devices, ["red", "blue"] as [Value]) {
      try await device.store.write { tx in
        // The tag's name is its record's name, so creating it twice gives one record.
        try tx.create(RecordID(zone: zone, name: "travel"), type: "tag", fields: ["color": color])
        try tx.insert(Self.tag("travel"), into: "tags", of: Self.post)
      }
    }
    let found = try await both(devices, remote) { tx in
      (try tx.records(in: zone, type: "tag").count, try tx.elements(of: "tags", in: Self.post))
        == (1, [Self.tag("travel")])
    }
    #expect(found)
    let holders = try await both(devices, remote) {
      try $0.holders(of: RecordID(zone: zone, name: "travel")).map(\.record)
    }
    #expect(holders == [Self.post])
  }

  @Test("tags that are added on two devices are both on the post, and one that is deleted leaves it")
  func twoTags() async throws {
    let directory = TemporaryDirectory()
    let remote = try await RemotePlace(.memory, in: directory.path).remote
    let devices = try await devices(directory, remote)
    for (device, name) in zip(devices, ["sea", "hills"] as [Name]) {
      try await device.store.write { tx in
        try tx.create(RecordID(zone: zone, name: name), type: "tag")
        try tx.insert(Self.tag(name), into: "tags", of: Self.post)
      }
    }
    let tags = try await both(devices, remote) { try $0.elements(of: "tags", in: Self.post) }
    #expect(tags == [Self.tag("sea"), Self.tag("hills")])
    // One device deletes a tag while the other adds it to another post.
    let second = RecordID(zone: zone, name: "second")
    try await devices[0].store.write { try $0.delete(RecordID(zone: zone, name: "sea")) }
    try await devices[1].store.write { tx in
      try tx.create(second, type: "post")
      try tx.insert(Self.tag("sea"), into: "tags", of: second)
    }
    let left = try await both(devices, remote) { tx in
      [try tx.elements(of: "tags", in: Self.post), try tx.elements(of: "tags", in: second)]
    }
    #expect(left == [[Self.tag("hills")], []])
    try await devices[1].store.write { try $0.create(RecordID(zone: zone, name: "sea"), type: "tag") }
    let again = try await both(devices, remote) { try $0.elements(of: "tags", in: second) }
    #expect(again == [Self.tag("sea")])
  }

  @Test(
    "an attachment that is added while the post is deleted is hidden with it, listed, and restored with it",
    arguments: [ExistencePolicy.latest, .deleteWins, .updateWins])
  func attachmentAndDeletion(_ policy: ExistencePolicy) async throws {
    let directory = TemporaryDirectory()
    let remote = try await RemotePlace(.memory, in: directory.path).remote
    let devices = try await devices(directory, remote)
    for device in devices { try await device.store.setExistencePolicy(policy, of: "post") }
    try await devices[0].store.write { try $0.delete(Self.post) }
    try await devices[1].store.write { tx in
      // It refers to the post, and does not change it.
      let fields: [Name: Value] = ["post": Self.reference(to: Self.post, .cascade), "name": "sea.jpg"]
      try tx.create(Self.photo, type: "attachment", fields: fields)
    }
    let shown = try await both(devices, remote) { tx in try tx.contains(Self.photo) }
    #expect(!shown)
    let hidden = try await both(devices, remote) { try $0.hiddenRecords(in: zone) }
    #expect(hidden.map(\.record.id) == [Self.photo] && hidden.map(\.missing) == [Self.post])
    #expect(hidden.first?.record["name"] == "sea.jpg")
    try await devices[0].store.write { try $0.create(Self.post, type: "post") }
    let name = try await both(devices, remote) { try $0.value(of: "name", in: Self.photo) }
    #expect(name == "sea.jpg")
  }

  @Test("a post that was edited while it was deleted keeps its attachments, if updates win")
  func editAndDeletion() async throws {
    let directory = TemporaryDirectory()
    let remote = try await RemotePlace(.memory, in: directory.path).remote
    let devices = try await devices(directory, remote)
    try await devices[1].store.write { tx in
      try tx.create(Self.photo, type: "attachment", fields: ["post": Self.reference(to: Self.post, .cascade)])
    }
    try await settle(devices, remote)
    for device in devices { try await device.store.setExistencePolicy(.updateWins, of: "post") }
    try await devices[0].store.write { try $0.delete(Self.post) }
    let early = try devices[0].store.read { try $0.contains(Self.photo) }
    #expect(!early)
    try await devices[1].store.write { try $0.set("title", of: Self.post, to: "Long journey") }
    let found = try await both(devices, remote) { tx in
      [try tx.contains(Self.photo), try tx.value(of: "title", in: Self.post) == "Long journey"]
    }
    #expect(found == [true, true])
  }
}
