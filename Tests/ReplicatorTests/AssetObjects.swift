import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Assets as objects of a remote")
struct AssetObjects {
  private static let zone = ZoneID(name: "notes")
  private static let incarnation = IncarnationID(rawValue: 0xA1)

  /// Two chunks, of different bytes.
  private static let chunks = [
    [UInt8](repeating: 1, count: AssetManifest.chunkBytes), [UInt8](repeating: 2, count: 77),
  ]

  private static func manifest(_ chunks: [[UInt8]] = chunks) throws -> AssetManifest {
    var hasher = ContentHasher()
    for chunk in chunks { hasher.update(chunk.span.bytes) }
    let asset = AssetReference(hash: hasher.finish(), byteCount: UInt64(chunks.reduce(0) { $0 + $1.count }))
    let hashes = chunks.map { ContentHash(of: $0.span.bytes) }
    return try #require(AssetManifest(asset: asset, chunks: hashes))
  }

  private static func asset(_ manifest: AssetManifest) -> RemoteAsset {
    RemoteAsset(manifest.asset, of: zone, incarnation)
  }

  private func put(_ manifest: AssetManifest, _ remote: any RemoteLog) async throws {
    for (index, chunk) in Self.chunks.enumerated() {
      try await remote.putAssetChunk(chunk, at: UInt64(index), of: Self.asset(manifest))
    }
    let state = try await remote.finishAsset(manifest, of: Self.zone, Self.incarnation)
    #expect(state == .whole(manifest))
  }

  private static var manifestOfOneByte: ContentHash {
    let byte: [UInt8] = [1]
    return ContentHash(of: byte.span.bytes)
  }

  // MARK: The manifest

  @Test("a manifest is decoded again, and any other bytes are refused: cut, longer, or with a flipped bit")
  func codec() throws {
    let nothing: [UInt8] = []
    let empty = AssetReference(hash: ContentHash(of: nothing.span.bytes), byteCount: 0)
    for manifest in [try Self.manifest(), try #require(AssetManifest(asset: empty, chunks: []))] {
      let bytes = manifest.bytes
      let read = try AssetManifest(decoding: bytes.span.bytes)
      #expect(read == manifest)
      for count in 0..<bytes.count {
        #expect(throws: FormatError.self) {
          try AssetManifest(decoding: bytes.span.bytes.extracting(..<count))
        }
      }
      let longer = bytes + [0]
      #expect(throws: FormatError.self) { try AssetManifest(decoding: longer.span.bytes) }
      for bit in 0..<bytes.count * 8 {
        var flipped = bytes
        flipped[bit / 8] ^= 1 << (bit % 8)
        #expect(throws: FormatError.self) { try AssetManifest(decoding: flipped.span.bytes) }
      }
    }
  }

  @Test("the bytes of a manifest are those of version 1")
  func golden() throws {
    let manifest = try Self.manifest()
    let text = manifest.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(text.hasPrefix("5452414d0100\(manifest.asset.hash)cd808002"))
    #expect(text.dropFirst(84).hasPrefix("\(manifest.chunks[0])\(manifest.chunks[1])"))
    #expect(text.count == 2 * (4 + 2 + 32 + 4 + 64 + 4))
  }

  @Test("a manifest has as many chunks as its asset, and a limit")
  func chunkCounts() throws {
    let mebibyte = UInt64(AssetManifest.chunkBytes)
    let hash = ContentHash.zero
    for (bytes, count) in [(0, 0), (1, 1), (mebibyte, 1), (mebibyte + 1, 2), (3 * mebibyte, 3)]
      as [(UInt64, UInt64)]
    {
      let asset = AssetReference(hash: hash, byteCount: bytes)
      #expect(AssetManifest.chunkCount(of: asset) == count)
      let sizes = (0...count).map { AssetManifest.byteCount(ofChunk: $0, of: asset) }
      #expect(UInt64(sizes.reduce(0, +)) == bytes)
      #expect(sizes.last == 0)
      let made = AssetManifest(asset: asset, chunks: [ContentHash](repeating: hash, count: Int(count)))
      #expect(made != nil)
      let other = AssetManifest(asset: asset, chunks: [ContentHash](repeating: hash, count: Int(count) + 1))
      #expect(other == nil)
    }
    let huge = AssetReference(hash: hash, byteCount: .max)
    #expect(AssetManifest(asset: huge, chunks: []) == nil)
    #expect(AssetManifest.byteCount(ofChunk: .max, of: huge) == 0)
    let most = Int(
      AssetManifest.chunkCount(of: AssetReference(hash: hash, byteCount: AssetManifest.assetBytesMax)))
    let largest = try #require(
      AssetManifest(
        asset: AssetReference(hash: hash, byteCount: AssetManifest.assetBytesMax),
        chunks: [ContentHash](repeating: hash, count: most)))
    #expect(largest.bytes.count <= AssetManifest.bytesMax)
  }

  @Test("names of assets are parsed, and no other names")
  func names() throws {
    let hash = Self.manifestOfOneByte
    for name in [
      ObjectName.assetManifest(of: hash, in: Self.incarnation),
      .assetChunk(0, of: hash, in: Self.incarnation),
      .assetChunk(0x1234_5678, of: hash, in: Self.incarnation),
    ] {
      let path = name.description
      #expect(ObjectName(path: path) == name)
      #expect(name.incarnation == Self.incarnation)
      #expect(name.offset == nil)
      for wrong in [
        path + "0", path + "/0", path.uppercased(), path.replacing("assets-", with: "assets-0"),
        path.replacing("\(hash)", with: "\(ContentHash.zero)"),
      ] {
        #expect(ObjectName(path: wrong) == nil, "\(wrong)")
      }
    }
  }

  // MARK: Damage

  @Test(
    "a chunk or manifest with other bytes is reported, and repaired by a store that has the right ones",
    arguments: RemotePlace.Kind.allCases)
  func damage(_ kind: RemotePlace.Kind) async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: directory.path)
    _ = try await place.remote.createZone(Self.zone, proposing: Self.incarnation)
    let manifest = try Self.manifest()
    let asset = Self.asset(manifest)
    try await put(manifest, place.remote)
    let manifestName = ObjectName.assetManifest(of: manifest.asset.hash, in: Self.incarnation)
    let chunkName = ObjectName.assetChunk(1, of: manifest.asset.hash, in: Self.incarnation)
    var flipped = Self.chunks[1]
    flipped[5] ^= 1
    let other = try Self.manifest([Self.chunks[1]])
    let wrong: [(ObjectName, [UInt8]?)] = [
      (chunkName, flipped), (chunkName, nil), (chunkName, []), (chunkName, Self.chunks[0]),
      (manifestName, Array(manifest.bytes.dropLast())), (manifestName, other.bytes), (manifestName, []),
      (manifestName, [UInt8](repeating: 0, count: 10_000)),
    ]
    for (name, bytes) in wrong {
      try await place.replace(name, with: bytes)
      if name == manifestName {
        await #expect { _ = try await place.remote.assetState(asset) } throws: {
          ($0 as? RemoteError)?.code == .damagedAsset
        }
      }
      try await put(manifest, place.remote)
      let state = try await place.remote.assetState(asset)
      #expect(state == .whole(manifest))
      let chunk = try await place.remote.assetChunk(at: 1, of: asset)
      #expect(chunk == Self.chunks[1])
    }
    // Everything is recognized as ours, and no log seems longer than it is.
    let listed = try await place.objects.list()
    #expect(listed.filter { $0.name == nil }.map(\.path) == [])
    let audit = try await RemoteAudit(of: place.remote, objects: listed)
    #expect(audit.problems.map(\.message) == [])
  }

  @Test(
    "a damaged or missing manifest is made again from complete chunks, without the file",
    arguments: RemotePlace.Kind.allCases, [[1, 2, 3], nil] as [[UInt8]?])
  func manifestMadeAgain(_ kind: RemotePlace.Kind, damaged: [UInt8]?) async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: directory.path)
    let device = try Device(in: directory.path, "device", seed: 1)
    let new = try Device(in: directory.path, "new", seed: 2)
    let bytes = assetBytes(AssetManifest.chunkBytes + 1000)
    let asset = try await device.setAsset(bytes, of: "first")
    try await device.sync(place.remote)
    let incarnation = try #require(try device.store.syncState().zones[0].token?.incarnation)
    let name = ObjectName.assetManifest(of: asset.hash, in: incarnation)
    let chunk = ObjectName.assetChunk(1, of: asset.hash, in: incarnation)
    let (manifest, right) = (try await place.get(name), try #require(try await place.get(chunk)))
    func repair() async throws -> [ObjectName] {
      let remote = try #require(place.remote as? any LogOfObjects)
      var repair = RemoteRepair(remote, from: new.store)
      try await repair.repairManifests(
        try await RemoteAudit(of: remote, objects: try await place.objects.list()))
      return repair.manifests
    }
    #expect(try await repair() == [])
    try await place.replace(name, with: damaged)
    // An incomplete chunk is not enough.
    var flipped = right
    flipped[5] ^= 1
    for wrong in [flipped, Array(right.dropLast()), nil] {
      try await place.replace(chunk, with: wrong)
      #expect(try await repair() == [])
      #expect(try await place.get(name) == damaged)
    }
    try await place.replace(chunk, with: right)
    #expect(try await repair() == [name])
    #expect(try await place.get(name) == manifest)
    #expect(try await repair() == [])
    for device in [device, new] { device.store.close() }
  }

  @Test("the audit has the name of an asset's wrong object, like its message")
  func placeOfAProblem() async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: directory.path)
    let device = try Device(in: directory.path, "device", seed: 1)
    let asset = try await device.setAsset(assetBytes(1000), of: "first")
    try await device.sync(place.remote)
    let incarnation = try #require(try device.store.syncState().zones[0].token?.incarnation)
    let chunk = ObjectName.assetChunk(0, of: asset.hash, in: incarnation)
    // More bytes than any chunk has.
    try await place.replace(chunk, with: [UInt8](repeating: 0, count: AssetManifest.chunkBytes + 1))
    let audit = try await RemoteAudit(of: place.remote, objects: try await place.objects.list())
    #expect(audit.problems.map(\.place) == ["\(chunk)"])
    #expect(audit.problems.first?.message.contains("\(chunk)") == true, "\(audit.problems)")
    device.store.close()
  }

  @Test("empty directories that an upload left are not foreign, and others are")
  func emptyDirectories() async throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/remote"
    let remote = try await FolderRemote.create(directory: path)
    let chunk = ObjectName.assetChunk(0, of: Self.manifestOfOneByte, in: Self.incarnation)
    let entry = ObjectName.entry(of: Self.incarnation, 1)
    for name in [chunk, entry] {
      var folder = path
      for component in name.components.dropLast() {
        folder += "/" + component
        mkdir(folder, 0o700)
      }
    }
    mkdir("\(path)/\(entry)", 0o700)
    #expect(try await remote.objects.list().map(\.path) == ["\(entry)/", "remote"])
  }

  // MARK: Unreferenced assets

  @Test(
    "a deleted zone's assets are deleted; its segments, other zones and foreign files stay",
    arguments: RemotePlace.Kind.allCases)
  func deletedZone(_ kind: RemotePlace.Kind) async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(kind, in: directory.path)
    let device = try Device(in: directory.path, "device", seed: 1)
    let other = ZoneID(name: "other")
    for number in 0..<3 as Range<UInt8> {
      _ = try await device.setAsset(assetBytes(1000, seed: number), of: Name("n\(number)"))
    }
    _ = try await device.setAsset(assetBytes(1000, seed: 0), of: "there", in: other)
    _ = try await device.sync(place.remote)
    let incarnation = try #require(
      try device.store.syncState().zones.first { $0.zone == Self.zone }?.token?.incarnation)
    let before = try await place.objects.list()
    #expect(before.count { $0.name?.isOfAsset ?? false } == 8)
    // A partial upload is removed too.
    let manifest = try Self.manifest()
    try await place.remote.putAssetChunk(
      Self.chunks[0], at: 0, of: RemoteAsset(manifest.asset, of: Self.zone, incarnation))
    let foreign = "\(directory.path)/remote \(RemoteID(rawValue: 9))/logs/\(incarnation)/assets-zz"
    if kind == .folder {
      #expect(mkdir(foreign, 0o777) == 0)
      replaceFile(foreign + "/note", with: [1])
    }
    try await device.store.write { try $0.deleteZone(Self.zone) }
    try await device.sync(place.remote)
    let after = try await place.objects.list()
    // The hint is overwritten.
    let left = before.filter {
      $0.name != .hint && (!($0.name?.isOfAsset ?? false) || $0.name?.incarnation != incarnation)
    }
    let isKept = left.allSatisfy { after.contains($0) }
    #expect(isKept)
    #expect(after.count { $0.name?.isOfAsset ?? false } == 2)
    // Only the foreign files are left.
    #expect(after.filter { $0.name == nil }.count == (kind == .folder ? 1 : 0))
    let audit = try await RemoteAudit(of: place.remote, objects: after)
    #expect(audit.problems.map(\.message) == [])
    #expect(audit.logs.flatMap(\.unnamedAssets).isEmpty)
    // A replica that does not know yet writes an object late: it is reported, and removed by another
    // deletion.
    let late = RemoteAsset(manifest.asset, of: Self.zone, incarnation)
    try await place.remote.putAssetChunk(Self.chunks[0], at: 0, of: late)
    let listed = try await place.objects.list()
    let told = try await RemoteAudit(of: place.remote, objects: listed)
    let unnamed = try #require(told.logs.first { $0.incarnation == incarnation }?.unnamedAssets)
    #expect(unnamed.map(\.hash) == [manifest.asset.hash])
    #expect(unnamed.map(\.bytes) == [UInt64(Self.chunks[0].count)])
    try await place.remote.deleteZone(Self.zone, incarnation)
    let last = try await place.objects.list()
    #expect(last == after)
  }

  @Test("the audit lists the assets that no segment refers to, with their bytes, and no others")
  func unnamed() async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.folder, in: directory.path)
    let device = try Device(in: directory.path, "device", seed: 1)
    let named = try await device.setAsset(assetBytes(1000), of: "first")
    try await device.sync(place.remote)
    let incarnation = try #require(try device.store.syncState().zones[0].token?.incarnation)
    // A complete one, and a partial one.
    let manifest = try Self.manifest()
    for (index, chunk) in Self.chunks.enumerated() {
      try await place.remote.putAssetChunk(
        chunk, at: UInt64(index), of: RemoteAsset(manifest.asset, of: Self.zone, incarnation))
    }
    let ended = try await place.remote.finishAsset(manifest, of: Self.zone, incarnation)
    #expect(ended == .whole(manifest))
    let first = Self.chunks[0]
    let firstHash = ContentHash(of: first.span.bytes)
    let begun = AssetReference(
      hash: firstHash, byteCount: 3 * UInt64(AssetManifest.chunkBytes))
    try await place.remote.putAssetChunk(
      Self.chunks[0], at: 0, of: RemoteAsset(begun, of: Self.zone, incarnation))
    let listed = try await place.objects.list()
    let audit = try await RemoteAudit(of: place.remote, objects: listed)
    #expect(audit.problems.map(\.message) == [])
    #expect(audit.logs[0].assets == 1)
    let found = Dictionary(
      uniqueKeysWithValues: audit.logs[0].unnamedAssets.map { ($0.hash, [$0.objects, $0.bytes]) })
    let whole = Self.chunks.reduce(0) { $0 + $1.count } + manifest.bytes.count
    #expect(
      found == [
        manifest.asset.hash: [UInt64(Self.chunks.count) + 1, UInt64(whole)],
        begun.hash: [1, UInt64(Self.chunks[0].count)],
      ])
    #expect(found[named.hash] == nil)
    // If a segment cannot be read, nobody knows its assets.
    try await place.replace(.entry(of: incarnation, 1), with: [1, 2, 3])
    let unread = try await RemoteAudit(of: place.remote, objects: listed)
    #expect(!unread.problems.isEmpty)
    #expect(unread.logs[0].unnamedAssets.isEmpty)
  }

  @Test("a missing chunk in the middle is noticed at the end, and written again")
  func hole() async throws {
    let directory = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: directory.path)
    _ = try await place.remote.createZone(Self.zone, proposing: Self.incarnation)
    let manifest = try Self.manifest()
    let asset = Self.asset(manifest)
    for index in 0..<2 {
      try await place.remote.putAssetChunk(Self.chunks[index], at: UInt64(index), of: asset)
    }
    try await place.replace(.assetChunk(0, of: manifest.asset.hash, in: Self.incarnation), with: nil)
    let ended = try await place.remote.finishAsset(manifest, of: Self.zone, Self.incarnation)
    #expect(ended == .partial(chunks: 0))
    try await put(manifest, place.remote)
  }
}
