internal import EventStore
internal import OperationFormat

/// Snapshots as objects beside the log of their zone's incarnation: parts, then the manifest, and last the index that
/// names the newest.
///
/// The index is overwritten, and may be lost, late or wrong: then readers begin with an older snapshot, or with the log. Of a
/// snapshot that no index names any more the objects are removed.
struct ObjectSnapshots: Sendable {
  let objects: any ObjectStore
  let zones: RemoteZoneList

  /// The newest first.
  func all(of zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) -> [RemoteSnapshot] {
    if try await zones.fate(of: zone, incarnation, checkedAt: 0) != nil { return [] }
    return try await index(of: zone, incarnation)
  }

  /// Nil if it is not there, or cannot be read.
  func manifest(of snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest? {
    guard let bytes = try await get(.snapshotManifest(of: snapshot), bytesMax: SnapshotManifest.bytesMax)
    else { return nil }
    do throws(FormatError) {
      let manifest = try SnapshotManifest.read(bytes.span.bytes)
      return manifest.incarnation == snapshot.incarnation && manifest.offset == snapshot.offset
        ? manifest : nil
    } catch {
      return nil
    }
  }

  func part(at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) -> [UInt8]? {
    try await get(.snapshotPart(index, of: snapshot), bytesMax: Limits.snapshotPartBytesMax)
  }

  func put(_ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) {
    guard try await zones.fate(of: snapshot.zone, snapshot.incarnation, checkedAt: 0) == nil else {
      throw RemoteError(
        .zoneUnknown, "zone “\(snapshot.zone)” was deleted", hint: "sync it: the deletion comes here too")
    }
    try await replace(.snapshotPart(index, of: snapshot), with: bytes)
  }

  func finish(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot) async throws(RemoteError) {
    guard try await zones.fate(of: snapshot.zone, snapshot.incarnation, checkedAt: 0) == nil else {
      throw RemoteError(
        .zoneUnknown, "zone “\(snapshot.zone)” was deleted", hint: "sync it: the deletion comes here too")
    }
    try await replace(.snapshotManifest(of: snapshot), with: manifest.encode())
    let known = try await index(of: snapshot.zone, snapshot.incarnation)
    var named = known.filter { $0 != snapshot } + [snapshot]
    named.sort { ($0.offset, $0.maker.rawValue) > ($1.offset, $1.maker.rawValue) }
    let kept = Array(named.prefix(RemoteSnapshot.countMax))
    try await objects.overwrite(.snapshotIndex(of: snapshot.incarnation), Self.encode(kept))
    for old in named.dropFirst(RemoteSnapshot.countMax) { try await remove(old) }
  }

  /// Removes a snapshot that the index does not name any more: the manifest first, so that nobody takes it for whole.
  private func remove(_ snapshot: RemoteSnapshot) async throws(RemoteError) {
    let manifest = try await manifest(of: snapshot)
    try await objects.delete(.snapshotManifest(of: snapshot))
    guard let manifest else { return }
    for index in manifest.parts.indices { try await objects.delete(.snapshotPart(index, of: snapshot)) }
  }

  private func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    do throws(RemoteError) {
      return try await objects.get(name, bytesMax: bytesMax)
    } catch {
      // What is no object, or too large, is no snapshot.
      guard error.code == .damaged || error.isAboutOneObject else { throw error }
      return nil
    }
  }

  private func replace(_ name: ObjectName, with bytes: [UInt8]) async throws(RemoteError) {
    if try await objects.putIfAbsent(name, bytes) { return }
    if try await get(name, bytesMax: bytes.count) == bytes { return }
    // An earlier try of the same maker ended early, or it was damaged.
    try await objects.overwrite(name, bytes)
  }

  // MARK: The index

  private static let indexBytesMax = 4096
  private static let version: UInt8 = 1

  private func index(
    of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> [RemoteSnapshot] {
    guard let bytes = try await get(.snapshotIndex(of: incarnation), bytesMax: Self.indexBytesMax) else {
      return []
    }
    do throws(FormatError) {
      return try Self.decode(bytes.span.bytes, zone, incarnation)
    } catch {
      return []
    }
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | 1 | count of the snapshots, the newest first |
  // | 8, 16 | of each: offset, maker, big-endian |
  // | 4 | CRC-32C of the bytes before, little-endian |

  private static func encode(_ snapshots: [RemoteSnapshot]) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(version)
    writer.append(UInt8(snapshots.count))
    for snapshot in snapshots {
      writer.append(bigEndian: snapshot.offset)
      writer.append(bigEndian: snapshot.maker.rawValue)
    }
    writer.append(littleEndian: crc32c(writer.span))
    return writer.bytes
  }

  private static func decode(
    _ bytes: RawSpan, _ zone: ZoneID, _ incarnation: IncarnationID
  ) throws(FormatError) -> [RemoteSnapshot] {
    var reader = ByteReader(bytes)
    _ = try reader.readBytes(4, "snapshots.index")
    let content = bytes.extracting(..<(bytes.byteCount - 4))
    let sum = UInt32(
      littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: content.byteCount, as: UInt32.self))
    guard sum == crc32c(content) else {
      throw FormatError(.damaged, at: 0, in: "snapshots.index", expected: "its checksum", found: "another")
    }
    reader = ByteReader(content)
    guard try reader.readUInt8("snapshots.index") == version else {
      throw FormatError(.newerFormat, at: 0, in: "snapshots.index", expected: "version 1", found: "another")
    }
    var found: [RemoteSnapshot] = []
    for _ in 0..<(try reader.readUInt8("snapshots.index")) {
      let offset = try reader.readBigEndian("snapshots.index", as: UInt64.self)
      let maker = try reader.readBigEndian("snapshots.index", as: UInt128.self)
      if offset > 0 {
        found.append(RemoteSnapshot(of: zone, incarnation, at: offset, by: ReplicaID(rawValue: maker)))
      }
    }
    return found
  }
}
