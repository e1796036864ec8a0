import LMDB
import OperationFormat

/// Removes files that no transaction of the log names, and no import waits to name.
///
/// Counting and collecting happen inside write transactions, so two processes cannot interfere. A file
/// without a row is left over from a write that was not committed, or from a deleted zone.
struct AssetCollection {
  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  /// Removes files that nothing names.
  ///
  /// - Returns: how many files went, and their bytes.
  /// - Complexity: linear in the files; a write for each folder that has something to remove.
  func collect() async throws -> (count: Int, byteCount: UInt64) {
    let assets = core.assets
    var (count, byteCount) = (0, UInt64(0))
    do {
      // Assets that another store's log names must stay.
      guard try !core.environment.isRemoved else { throw StoreError.removed(core.directory) }
      guard let folders = try assets.calls.names(in: assets.root) else { return (0, 0) }
      try assets.sweepIncoming()
      let now = UInt64(max(0, core.configuration.wallMilliseconds()))
      for folder in folders where folder.utf8.count == 2 || folder == "partial" {
        let names = try assets.calls.names(in: "\(assets.root)/\(folder)") ?? []
        let hashes = names.compactMap { name in
          ContentHash(name).flatMap { folder == "partial" || name.hasPrefix(folder) ? $0 : nil }
        }
        let unnamed = try core.read { transaction in
          let table = transaction.readView.assets
          return try hashes.filter { try table.isCollectable($0, nowMilliseconds: now) }
        }
        if unnamed.isEmpty { continue }
        let isPartial = folder == "partial"
        let removed = try await core.perform { store in
          try store.storage.assets.removeFiles(unnamed, arePartial: isPartial, assets, nowMilliseconds: now)
        }
        count += removed.count
        byteCount += removed.byteCount
      }
      if try core.read({ try !$0.readView.assets.oldHolds(nowMilliseconds: now).isEmpty }) {
        try await core.perform { try $0.storage.assets.removeOldHolds(nowMilliseconds: now) }
      }
    } catch {
      throw StoreError.translate(error)
    }
    return (count, byteCount)
  }
}

extension AssetTable where Source == TableStorage {
  /// Removes files that are still named by nothing.
  fileprivate func removeFiles(
    _ hashes: [ContentHash], arePartial: Bool, _ files: AssetFiles, nowMilliseconds now: UInt64
  ) throws -> (count: Int, byteCount: UInt64) {
    var (count, byteCount) = (0, UInt64(0))
    for hash in hashes {
      guard try isCollectable(hash, nowMilliseconds: now) else {
        continue
      }
      if arePartial {
        try files.removeUnlessLocked("\(files.partialFolder)/\(hash)")
        continue
      }
      let path = files.path(of: hash)
      guard let status = try files.calls.status(of: path) else { continue }
      try files.calls.remove(path)
      count += 1
      byteCount += status.byteCount
    }
    return (count, byteCount)
  }

  fileprivate func removeOldHolds(nowMilliseconds now: UInt64) throws {
    for hash in try oldHolds(nowMilliseconds: now) {
      let key = TableKey.heldAsset(hash)
      _ = try transaction.delete(key.span, in: tables.assets)
    }
  }
}

extension AssetTable {
  /// Whether a file may go: nothing names it, and no import waits to.
  func isCollectable(_ hash: ContentHash, nowMilliseconds now: UInt64) throws -> Bool {
    if try isNamed(hash) { return false }
    return try (heldUntil(hash) ?? 0) <= now
  }

  /// Imports that nothing came to name in time.
  fileprivate func oldHolds(nowMilliseconds now: UInt64) throws -> [ContentHash] {
    var hashes: [ContentHash] = []
    try transaction.forEachEntry(in: tables.assets, under: [3]) { key, row in
      if try AssetRow.count(row) <= now, let hash = ContentHash(bytes: key.extracting(1...)) {
        hashes.append(hash)
      }
      return true
    }
    return hashes
  }
}
