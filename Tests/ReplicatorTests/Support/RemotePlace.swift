import OperationFormat
import StoreTesting

@testable import Replicator

/// The place of a remote's objects, which a test may change behind the remote's back.
struct RemotePlace: Sendable {
  enum Kind: CaseIterable {
    case memory
    case folder
  }

  let objects: any ObjectStore
  private let reopen: @Sendable () -> any RemoteLog

  /// Creates a new remote.
  ///
  /// - Parameters:
  ///   - identity: the identity of the remote.
  ///   - clock: that of a remote in memory, for receive times; nil for none.
  init(
    _ kind: Kind, in parent: String, identity: RemoteID = RemoteID(rawValue: 9),
    clock: (@Sendable () -> UInt64)? = nil
  ) async throws {
    switch kind {
    case .memory:
      let remote = MemoryRemote(identity: identity, receivedMilliseconds: clock)
      objects = remote.objects
      reopen = { remote.reopened() }
    case .folder:
      let folder = FolderObjects(
        directory: "\(parent)/remote \(identity)", makeRandom: seededBits(UInt64(identity.rawValue)))
      try await folder.create(identity)
      objects = folder
      reopen = { FolderRemote(folder) }
    }
  }

  /// The remote as another process would see it.
  var remote: any RemoteLog { reopen() }

  // MARK: Behind the remote's back

  func get(_ name: ObjectName) async throws -> [UInt8]? {
    try await objects.get(name, bytesMax: LogObject.bytesMax)
  }

  /// Replaces an object's bytes, or removes the object.
  func replace(_ name: ObjectName, with bytes: [UInt8]?) async throws {
    try await objects.delete(name)
    if let bytes { _ = try await objects.putIfAbsent(name, bytes) }
  }

  /// Damages an entry of a log, or gives it up.
  func damage(
    _ damage: RemoteLogConformance.EntryDamage, _ incarnation: IncarnationID, _ offset: UInt64
  ) async throws {
    let name = ObjectName.entry(of: incarnation, offset)
    switch damage {
    case .missing: try await replace(name, with: nil)
    case .zeros, .givenUp: try await replace(name, with: [UInt8](repeating: 0, count: 300))
    case .flipped, .flippedAndGivenUp:
      guard var bytes = try await get(name), !bytes.isEmpty else { return }
      bytes[bytes.count - 1] ^= 1
      try await replace(name, with: bytes)
    }
    guard [.givenUp, .flippedAndGivenUp].contains(damage), let log = (remote as? any LogOfObjects)?.log
    else { return }
    let place = EntryPlace(log: EntryPlace.Log(zone, incarnation), offset: offset)
    _ = try await log.amendments.quarantine(place, last: .max, note: "lost", milliseconds: 1_700_000_000_000)
  }

  /// A copy of all objects.
  func copy() async throws -> [ObjectName: [UInt8]] {
    var copy: [ObjectName: [UInt8]] = [:]
    for entry in try await objects.list() {
      if let name = entry.name { copy[name] = try await get(name) }
    }
    return copy
  }

  /// Restores the selected objects from a copy, and removes all others of them.
  func restore(
    _ copy: [ObjectName: [UInt8]], where isIncluded: (ObjectName) -> Bool = { _ in true }
  ) async throws {
    for name in try await self.copy().keys where isIncluded(name) && copy[name] == nil {
      try await objects.delete(name)
    }
    for (name, bytes) in copy where isIncluded(name) { try await replace(name, with: bytes) }
  }
}

/// The object `remote` as a later version would write it.
func newerMarker(_ marker: [UInt8]) -> [UInt8] {
  var writer = ByteWriter()
  writer.append(marker[..<4] + [3] + marker[5..<22])
  writer.append(littleEndian: crc32c(writer.span))
  return writer.bytes
}
