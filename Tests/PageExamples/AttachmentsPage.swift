import Foundation
import StoreTesting
import Testing
import Tributary

// The examples of Attachments.md are between the marks: an app author's code, which may use only public API.

@Suite("The examples of the page Attachments")
struct AttachmentsPage {
  // page
  struct Letter: Model {
    static let type: Name = "letter"
    let subject = Field<String>("subject")
  }

  struct Attachment: Model {
    static let type: Name = "attachment"
    let letter = Field<Ref<Letter>?>("letter", .cascade)
    let name = Field<String>("name")
    let file = Field<AssetReference?>("file")
  }

  func attach(file path: String, named name: String, to letter: Ref<Letter>, in store: Store) async throws {
    let file = try await store.local.importAsset(file: path)
    try await store.write { tx in
      try tx.create(Attachment.self, in: letter.zone) {
        $0.letter = letter
        $0.name = name
        $0.file = file
      }
    }
  }

  func attachments(of letter: Ref<Letter>, in store: Store) throws -> [Row<Attachment>] {
    try store.fetch(Attachment.where { $0.letter == letter }.sorted(by: \.name))
  }
  // page end

  // page
  /// The path of an attachment's file, downloaded if it is not here yet; nil if there is none.
  func path(
    of attachment: Row<Attachment>, in store: Store, with replicator: LogReplicator
  ) async throws -> String? {
    guard let file = attachment.file else { return nil }
    if try !store.local.hasAsset(file) {
      try await replicator.downloadAsset(file, in: attachment.id.zone)
    }
    return try store.local.assetPath(file)
  }

  func bytes(of file: AssetReference, in store: Store) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var reader = try store.local.openAsset(file)
    while let piece = try reader.next() { bytes += piece }
    return bytes
  }
  // page end

  // page
  func downloadEverything(of zone: ZoneID, to store: Store) async throws {
    try await store.local.setAssetPolicy(.eager, of: zone)
  }

  /// Bytes of a zone's assets that are not here yet.
  func missingBytes(of zone: ZoneID, in store: Store) throws -> UInt64 {
    var count: UInt64 = 0
    try store.local.forEachAsset { asset in
      if !asset.isHere && asset.zones.contains(zone) { count += asset.reference.byteCount }
      return true
    }
    return count
  }
  // page end

  let directory = TemporaryDirectory()

  @Test("are attached, downloaded when they are asked for, and downloaded all by an eager zone")
  func run() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
    func open(_ name: String) throws -> Store {
      try Store(
        directory.path + "/" + name, .consistent, models: [Letter.self, Attachment.self],
        zones: [.synced("mail")])
    }
    let (ann, bob) = (try open("a"), try open("b"))
    let replicator = LogReplicator(store: bob, remote: remote)
    func sync() async throws {
      _ = try await LogReplicator(store: ann, remote: remote).syncOnce()
      _ = try await replicator.syncOnce()
    }
    let letter = try await ann.write { tx in try tx.create(Letter.self, in: "mail") }
    for (name, text) in [("a.txt", "first"), ("b.txt", "second")] {
      try text.write(toFile: "\(directory.path)/\(name)", atomically: true, encoding: .utf8)
      try await attach(file: "\(directory.path)/\(name)", named: name, to: letter, in: ann)
    }
    try await sync()
    let found = try attachments(of: letter, in: bob)
    #expect(found.map(\.name) == ["a.txt", "b.txt"])
    #expect(try missingBytes(of: "mail", in: bob) == 11)
    let path = try #require(try await path(of: found[0], in: bob, with: replicator))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "first")
    #expect(try bytes(of: #require(found[0].file), in: bob) == Array("first".utf8))
    let error = #expect(throws: StoreError.self) { try bytes(of: #require(found[1].file), in: bob) }
    #expect(error?.code == .assetMissing)
    try await downloadEverything(of: "mail", to: bob)
    try await sync()
    #expect(try missingBytes(of: "mail", in: bob) == 0)
    // The deletion of a letter hides its attachments.
    try await ann.write { try $0.delete(letter) }
    #expect(try ann.count(Attachment.all) == 0)
  }

  struct Blob: Model {
    static let type: Name = "blob"
    let data = Field<Data>("data")
    let parts = ListField<Data>("parts")
  }

  @Test("a field of bytes has up to a mebibyte; elements of lists have less")
  func largeBytes() async throws {
    let store = try Store(
      directory.path + "/blobs", .consistent, models: [Blob.self], zones: [.local("mail")])
    let blob = try await store.write { tx in
      try tx.create(Blob.self, in: "mail") { $0.data = Data(count: 64 << 10) }
    }
    #expect(try store.fetch(blob)?.data.count == 64 << 10)
    try await store.write { tx in tx[blob].data = Data(count: (64 << 10) + 1) }
    #expect(try store.fetch(blob)?.data.count == (64 << 10) + 1)
    for write: @Sendable (inout WriteTransaction) -> Void in [
      { tx in tx[blob].data = Data(count: 1 << 20 + 1) },
      { tx in tx[blob].parts.append(Data(count: (64 << 10) + 1)) },
    ] {
      await #expect {
        try await store.write { tx in write(&tx) }
      } throws: {
        ($0 as? StoreError)?.code == .valueInvalid
      }
    }
  }
}
