public import OperationFormat

/// When the assets of a zone are downloaded. Each store has its own policy; it is not synced.
public enum AssetPolicy: UInt8, Hashable, Sendable, CaseIterable {
  /// When the app asks for one: what ``LocalStore`` has by default.
  case lazy = 0
  /// In each round of replication, after its segments.
  case eager = 1
}

extension RecordReading where Self: ~Copyable {
  /// When the assets of a zone are downloaded.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func assetPolicy(of zone: ZoneID) throws -> AssetPolicy {
    let view = try reader.view
    view.footprint?.noteAll()
    return try view.assets.policy(of: try view.zones.number(of: zone))
  }
}
