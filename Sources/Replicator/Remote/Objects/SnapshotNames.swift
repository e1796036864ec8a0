internal import EventStore
internal import OperationFormat

/// The names of the snapshots of logs, and what they name: see ``ObjectSnapshots``.
struct SnapshotNames: Sendable {
  let objects: any ObjectStore

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

  /// Removes a snapshot: its name stays.
  ///
  /// - Parameter parts: how many parts were put; nil for those that its manifest says.
  func remove(_ snapshot: RemoteSnapshot, parts: Int? = nil) async throws(RemoteError) {
    let known = try await manifest(of: snapshot)
    try await objects.delete(.snapshotManifest(of: snapshot))
    for index in 0..<(parts ?? known?.parts.count ?? 0) {
      try await objects.delete(.snapshotPart(index, of: snapshot))
    }
  }

  /// Removes the snapshots that have an entry of a log: it was given up since.
  func removeAll(of incarnation: IncarnationID, from offset: UInt64) async throws(RemoteError) {
    var number = try await last(of: incarnation)
    // Those behind the last ones were removed, but for that with which the log begins.
    let end = number - min(number, 4 * UInt64(RemoteSnapshot.countMax))
    while number > end {
      if let found = try await snapshot(number, of: ZoneID(name: ""), incarnation), found.offset >= offset {
        try await remove(found)
      }
      number -= 1
    }
  }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    do throws(RemoteError) {
      return try await objects.get(name, bytesMax: bytesMax)
    } catch {
      // What is no object, or too large, is no snapshot.
      guard error.code == .damaged || error.isAboutOneObject else { throw error }
      return nil
    }
  }

  private static let nameBytes = 29
  private static let version: UInt8 = 1

  /// The number of the last name; 0 if there is none, or something else is in the place of their directory.
  func last(of incarnation: IncarnationID) async throws(RemoteError) -> UInt64 {
    do throws(RemoteError) {
      return try await objects.lastNumber { .snapshotName($0, of: incarnation) }
    } catch {
      guard error.code == .damaged else { throw error }
      return 0
    }
  }

  /// The numbers of the names that say nothing: damaged ones, and something foreign that has such a name. Readers pass over
  /// them.
  ///
  /// - Complexity: reads all names
  /// - Throws: ``RemoteError`` `damaged` if something else is in the place of their directory.
  func unreadable(of incarnation: IncarnationID) async throws(RemoteError) -> [UInt64] {
    var numbers: [UInt64] = []
    var number = try await objects.lastNumber { .snapshotName($0, of: incarnation) }
    while number > 0 {
      if try await snapshot(number, of: ZoneID(name: ""), incarnation) == nil { numbers.append(number) }
      number -= 1
    }
    return numbers
  }

  /// Nil if it cannot be read.
  func snapshot(
    _ number: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteSnapshot? {
    let name = ObjectName.snapshotName(number, of: incarnation)
    guard let bytes = try await get(name, bytesMax: Self.nameBytes) else { return nil }
    do throws(FormatError) {
      return try Self.decode(bytes.span.bytes, zone, incarnation)
    } catch {
      return nil
    }
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | 8, 16 | offset, maker, big-endian |
  // | 4 | CRC-32C of the bytes before, little-endian |

  static func encode(_ snapshot: RemoteSnapshot) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(version)
    writer.append(bigEndian: snapshot.offset)
    writer.append(bigEndian: snapshot.maker.rawValue)
    let checksum = crc32c(writer.span)
    writer.append(littleEndian: checksum)
    return writer.bytes
  }

  private static func decode(
    _ bytes: RawSpan, _ zone: ZoneID, _ incarnation: IncarnationID
  ) throws(FormatError) -> RemoteSnapshot? {
    var reader = ByteReader(bytes)
    let version = try reader.readUInt8("snapshot.name")
    let offset = try reader.readBigEndian("snapshot.name", as: UInt64.self)
    let maker = try reader.readBigEndian("snapshot.name", as: UInt128.self)
    let content = bytes.extracting(..<reader.position)
    let checksum = try reader.readLittleEndian("snapshot.name", as: UInt32.self)
    try reader.finish("snapshot.name")
    guard version == Self.version, checksum == crc32c(content), offset > 0 else { return nil }
    return RemoteSnapshot(of: zone, incarnation, at: offset, by: ReplicaID(rawValue: maker))
  }
}
