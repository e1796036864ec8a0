import LMDB
import OperationFormat

extension StoreCore {
  var snapshots: SnapshotFiles {
    var files = SnapshotFiles(
      store: configuration.assetDirectory ?? directory, isSynced: !configuration.isUnsynced,
      calls: configuration.assetCalls, makeRandom: configuration.makeRandom)
    if !configuration.isReadOnly {
      files.didFindDamage = { [brokenOrigins] in brokenOrigins.value = nil }
    }
    return files
  }

  /// Throws if a zone begins with a snapshot of the same content of which the manifest says other things: they would share
  /// their files.
  func checkReplacesNoOrigin(_ manifest: SnapshotManifest) throws {
    guard try read({ try $0.readView.zones.originContents().contains(manifest.content) }),
      try snapshots.manifest(of: manifest.content) != manifest
    else { return }
    throw StoreError(
      .outOfOrder,
      "the snapshot of zone “\(manifest.zone)” at offset \(manifest.offset) has the content of one that a zone begins with, "
        + "and says other things of it", hint: "another snapshot, or the log, is read instead")
  }

  /// Removes what processes have left that ended while they wrote a snapshot.
  func removeLeftOverSnapshots() throws {
    try snapshots.removeLeftOver { try read { try $0.readView.zones.originContents() } }
  }

  /// A snapshot that was made of a zone.
  struct MadeSnapshot: Sendable {
    var manifest: SnapshotManifest
    /// Whether its files were not there before.
    var isNew: Bool
  }

  /// Writes a snapshot of a zone.
  func makeSnapshot(of zone: ZoneID, _ progress: @escaping (UInt64) throws -> Void) throws -> MadeSnapshot {
    if configuration.isReadOnly { throw StoreError.readOnly(directory) }
    return try read { source in
      let made = try snapshots.make { keep in
        try SnapshotWriter(of: zone, source, keep: keep).write(progress: progress)
      }
      return MadeSnapshot(manifest: made.manifest, isNew: made.isNew)
    }
  }

  /// Removes the snapshots that no zone begins with.
  func removeUnneededSnapshots() throws {
    // A commit that a power cut may take back must not need what is removed.
    try environment.sync()
    try snapshots.remove(allBut: try read { try $0.readView.zones.originContents() })
  }
}
