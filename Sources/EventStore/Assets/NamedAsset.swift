import LMDB
public import OperationFormat

/// An asset that the log names.
public struct NamedAsset: Hashable, Sendable {
  /// Which asset it is, and how many bytes it has.
  public let reference: AssetReference
  /// How many transactions of the log name it, over all zones.
  public internal(set) var transactions: UInt64
  /// The zones whose logs name it, in the order of their identities; those aside that were deleted.
  public internal(set) var zones: [ZoneID]
  /// Whether its file is here.
  public let isHere: Bool
}

extension ReadTransaction {
  /// Calls a closure with the assets that the log names, in the order of their hashes, until it returns
  /// false.
  ///
  /// - Parameter only: the zone to look at; nil for all. Rows of other zones are not read: they may be
  ///   damaged.
  func forEachAsset(
    in files: AssetFiles, of only: ZoneID? = nil, _ body: (NamedAsset) throws -> Bool
  ) throws {
    var zones: [ZoneNumber: ZoneID] = [:]
    for (number, id) in try readView.zones.allVisible(of: only) { zones[number] = id }
    var current: NamedAsset?
    var cursor = try transaction.openCursor(tables.assets)
    var isThere = try cursor.first()
    while isThere {
      let found = try cursor.withEntry {
        key, row -> (asset: AssetReference, zone: ZoneNumber, count: UInt64)? in
        guard key.hasPrefix([0]) else { return nil }
        let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 41))
        let isWanted = only == nil || zones[zone] != nil
        return (try AssetReference(key: key, at: 1), zone, isWanted ? try AssetRow.count(row) : 0)
      }
      guard let found else { break }
      isThere = try cursor.next()
      if only != nil, zones[found.zone] == nil { continue }
      if current?.reference != found.asset {
        if let ended = current, try !body(ended.inOrder) { return }
        current = NamedAsset(
          reference: found.asset, transactions: 0, zones: [], isHere: try files.isHere(found.asset))
      }
      current?.transactions &+= found.count
      if let zone = zones[found.zone] { current?.zones.append(zone) }
    }
    if let ended = current { _ = try body(ended.inOrder) }
  }
}

extension NamedAsset {
  fileprivate var inOrder: NamedAsset {
    var sorted = self
    sorted.zones.sort()
    return sorted
  }
}
