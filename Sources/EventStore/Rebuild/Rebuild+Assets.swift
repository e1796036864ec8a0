import LMDB
import OperationFormat

extension Rebuild {
  /// Counts again which assets the log names: a rebuild makes all derived rows again, and may know operations
  /// that were kept unread before. It counts in one commit, so that no write counts meanwhile; a store
  /// without assets pays nothing.
  ///
  /// - Parameter knowsMore: whether there are operations that could not be counted before.
  /// - Complexity: linear in the log, if it names any asset.
  func recountAssets(knowsMore: Bool) throws {
    let (counted, listed) = try storage.assets.allNames()
    guard knowsMore || !counted.isEmpty || !listed.isEmpty else { return }
    let counts = try countLog()
    // A damaged key may list what nothing counts.
    for name in counted.union(listed) where counts[name] == nil {
      let isGone = try storage.zoneRowIfThere(name.zone)?.status.isGone ?? true
      // What is left of a zone that is gone is taken away in steps.
      if !isGone { try storage.assets.forget(name.asset, in: name.zone) }
    }
    for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
      let isNew = !counted.contains(name)
      try storage.assets.setCount(
        count, of: name.asset, in: name.zone,
        isNewlyWanted: isNew ? try store.assetFiles?.isHere(name.asset) == false : false)
    }
  }

  /// How many transactions of the log name each asset, in each zone that is there.
  private func countLog() throws -> [AssetName: UInt64] {
    var counts: [AssetName: UInt64] = [:]
    try storage.assets.countOriginAssets(in: &counts)
    var decoder = BodyDecoder()
    var position = Position.start
    let last = try storage.lastPosition()
    while position < last {
      position = position.next
      let isThere: Void? = try storage.log.withEntryUnlessRemoved(at: position) {
        header, body in
        guard try !storage.zoneRow(header.zone).status.isGone else { return }
        try decoder.parse(body)
        var found: [AssetReference] = []
        try decoder.operations.appendAssets(in: body, to: &found)
        if found.isEmpty { return }
        for asset in Set(found) { counts[AssetName(asset: asset, zone: header.zone), default: 0] += 1 }
      }
      if isThere == nil {
        position = try storage.log.removedRun(at: position)?.upperBound ?? position
      }
    }
    return counts
  }
}

extension AssetTable {
  /// The assets that are counted, and those that are in a list, by zone.
  fileprivate func allNames() throws -> (counted: Set<AssetName>, listed: Set<AssetName>) {
    var (counted, listed): (Set<AssetName>, Set<AssetName>) = ([], [])
    var cursor = try transaction.openCursor(tables.assets)
    var isThere = try cursor.first()
    while isThere {
      try cursor.withEntry { key, _ in
        guard TableKey.isOfAssets(key) else { return }
        let kind = key.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        if kind == 0 {
          let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 41))
          counted.insert(AssetName(asset: try AssetReference(key: key, at: 1), zone: zone))
        } else if AssetList(rawValue: kind) != nil {
          let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 1))
          listed.insert(AssetName(asset: try AssetReference(key: key, at: 5), zone: zone))
        }
      }
      isThere = try cursor.next()
    }
    return (counted, listed)
  }
}

extension AssetTable where Source == TableStorage {
  fileprivate func setCount(
    _ count: UInt64, of asset: AssetReference, in zone: ZoneNumber, isNewlyWanted: Bool
  ) throws {
    try source.put(.assetName(asset, in: zone), in: tables.assets) { $0.append(varint: count) }
    try source.put(.asset(asset, of: zone, .named), in: tables.assets) { _ in }
    if isNewlyWanted { try setNumber(source.lastPosition().rawValue, of: asset, in: zone, .wanted) }
  }
}
