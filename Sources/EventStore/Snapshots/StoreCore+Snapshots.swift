import OperationFormat

extension StoreCore {
  var snapshots: SnapshotFiles {
    SnapshotFiles(
      store: configuration.assetDirectory ?? directory, isSynced: !configuration.isUnsynced,
      calls: configuration.assetCalls, makeRandom: configuration.makeRandom)
  }

  /// Writes a snapshot of a zone. Returns the last position of the log that it has seen, too.
  func makeSnapshot(
    of zone: ZoneID, _ progress: @escaping (UInt64) throws -> Void
  ) throws -> (manifest: SnapshotManifest, position: Position) {
    if configuration.isReadOnly { throw StoreError.readOnly(directory) }
    return try read { source in
      let position = try source.lastPosition()
      let manifest = try snapshots.make { keep in
        try SnapshotWriter(of: zone, source, keep: keep).write(progress: progress)
      }
      return (manifest, position)
    }
  }

  /// Keeps a snapshot of another store.
  func keep(_ manifest: SnapshotManifest, fetch: (Int) async throws -> [UInt8]) async throws {
    let incoming = try snapshots.begin()
    do {
      for (index, part) in manifest.parts.enumerated() {
        let stored = try await fetch(index)
        _ = try part.unpack(stored.span.bytes)
        try snapshots.write(stored, index, to: incoming)
      }
      try snapshots.finish(manifest, incoming)
    } catch {
      snapshots.discard(incoming)
      throw StoreError.translate(error)
    }
  }

  /// Removes the snapshots that no zone begins with.
  func removeUnneededSnapshots() throws {
    let needed = try read { try $0.readView.zones.origins().map(\.origin.content) }
    try snapshots.remove(allBut: Set(needed))
  }
}
