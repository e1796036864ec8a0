internal import EventStore
internal import OperationFormat

/// Snapshots as objects beside the log of their zone's incarnation: parts, then the manifest, and last the next of the names,
/// which are a list of their own: dense from 1, each written once.
///
/// A name says which snapshot is whole, the later the newer. Nothing is replaced, so makers never hurt each other. Of a
/// snapshot behind the last four names the other objects are removed, but not of the one with which the log begins.
struct ObjectSnapshots: Sendable {
  let objects: any ObjectStore
  let zones: any LogStates
  private var names: SnapshotNames { SnapshotNames(objects: objects) }

  /// The newest first.
  func all(of zone: ZoneID, _ incarnation: IncarnationID) async throws(RemoteError) -> [RemoteSnapshot] {
    if try await zones.fate(of: zone, incarnation, checkedAt: 0) != nil { return [] }
    var found: [RemoteSnapshot] = []
    var number = try await names.last(of: incarnation)
    // Of very many names that say nothing, not all are read.
    let end = number - min(number, 4 * UInt64(RemoteSnapshot.countMax))
    while number > end, found.count < RemoteSnapshot.countMax {
      if let name = try await names.snapshot(number, of: zone, incarnation), !found.contains(name) {
        found.append(name)
      }
      number -= 1
    }
    // The one with which the log begins stays.
    if let first = try await zones.begin(of: zone, incarnation), !found.contains(first) {
      found.append(first)
    }
    return found
  }

  func manifest(of snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest? {
    try await names.manifest(of: snapshot)
  }

  func remove(_ snapshot: RemoteSnapshot, parts: Int? = nil) async throws(RemoteError) {
    // No store could begin without it.
    if try await zones.begin(of: snapshot.zone, snapshot.incarnation) == snapshot { return }
    try await names.remove(snapshot, parts: parts)
  }

  /// Removes those that are named and before an offset.
  func removeAll(
    of zone: ZoneID, _ incarnation: IncarnationID, before offset: UInt64
  ) async throws(RemoteError) {
    for old in try await all(of: zone, incarnation) where old.offset < offset { try await remove(old) }
  }

  /// Whether one has its manifest and all its parts. What they have is not read.
  func isWhole(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    guard let manifest = try await manifest(of: snapshot) else { return false }
    for index in manifest.parts.indices {
      guard try await objects.exists(.snapshotPart(index, of: snapshot)) else { return false }
    }
    return true
  }

  func part(at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) -> [UInt8]? {
    try await names.get(.snapshotPart(index, of: snapshot), bytesMax: Limits.snapshotPartBytesMax)
  }

  func put(_ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot) async throws(RemoteError) {
    try await checkIsThere(snapshot)
    guard bytes.count <= Limits.snapshotPartBytesMax else {
      throw RemoteError(
        .mismatch, "a part of a snapshot cannot have \(bytes.count) bytes",
        hint: "this is a bug of the replicator: please report it")
    }
    try await replace(.snapshotPart(index, of: snapshot), with: bytes)
  }

  func finish(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot) async throws(RemoteError) {
    try await checkIsThere(snapshot)
    try await putManifest(manifest, of: snapshot)
    let known = try await all(of: snapshot.zone, snapshot.incarnation)
    if known.contains(snapshot) { return }
    var number = try await names.last(of: snapshot.incarnation) + 1
    while true {
      let name = ObjectName.snapshotName(number, of: snapshot.incarnation)
      if try await objects.putIfAbsent(name, SnapshotNames.encode(snapshot)) { break }
      guard try await objects.exists(name) else { throw .notShown(name) }
      number += 1
    }
    guard number > UInt64(RemoteSnapshot.countMax) else { return }
    let old = try await names.snapshot(
      number - UInt64(RemoteSnapshot.countMax), of: snapshot.zone, snapshot.incarnation)
    // A later name may name it too: in place of one that was damaged it got another.
    let newest = known.prefix(RemoteSnapshot.countMax - 1)
    // What stays, for want of a right or of a connection, only takes space.
    let first = try await zones.begin(of: snapshot.zone, snapshot.incarnation)
    if let old, old != snapshot, old != first, !newest.contains(old) { try? await names.remove(old) }
  }

  func putManifest(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot) async throws(RemoteError) {
    try await replace(.snapshotManifest(of: snapshot), with: manifest.encode())
  }

  private func checkIsThere(_ snapshot: RemoteSnapshot) async throws(RemoteError) {
    guard try await zones.fate(of: snapshot.zone, snapshot.incarnation, checkedAt: 0) == nil else {
      throw .deleted(snapshot.zone)
    }
  }

  private func replace(_ name: ObjectName, with bytes: [UInt8]) async throws(RemoteError) {
    if try await objects.putIfAbsent(name, bytes) { return }
    if try await names.get(name, bytesMax: bytes.count) == bytes { return }
    // An earlier try of the same maker ended early, or it was damaged.
    try await objects.overwrite(name, bytes)
  }
}
