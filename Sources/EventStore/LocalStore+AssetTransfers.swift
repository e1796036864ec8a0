import LMDB
package import OperationFormat

/// What a replicator asks for, and notes, of the assets of a zone.
extension LocalStore {
  /// Whether anything in a zone's log names an asset.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func namesAssets(in zone: ZoneID) throws -> Bool {
    try read { transaction in
      let number = try transaction.readView.zones.number(of: zone)
      return try transaction.readView.assets.hasAny(in: number, .named)
    }
  }

  // MARK: To be downloaded

  /// The next asset that a zone's log names and that is not here, in the order of their hashes.
  ///
  /// - Parameters:
  ///   - last: where to go on; nil for the start.
  ///   - position: looks for those alone that a transaction after it names; nil for all.
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func nextWantedAsset(
    of zone: ZoneID, after last: AssetReference?, namedAfter position: Position? = nil
  ) throws -> WantedAsset {
    try read { transaction in
      let number = try transaction.readView.zones.number(of: zone)
      var found = WantedAsset(nil, logEnd: try transaction.lastPosition())
      try transaction.readView.assets.forEach(of: number, .wanted, after: last) { asset, named in
        if let position, named <= position.rawValue { return true }
        found.reference = asset
        return false
      }
      return found
    }
  }

  /// Records that an asset has come.
  package func noteAssetArrival(_ asset: AssetReference) async throws {
    let isAwaited = try read { try $0.isAwaited(asset) }
    // A commit brings the next round: none where nothing changes.
    if isAwaited { try await perform { try $0.storage.assets.noteArrival(of: asset) } }
  }

  // MARK: To be uploaded

  /// The next asset that a zone's remote was not given and that is here now, in the order of their hashes. One whose
  /// file was found damaged is here again once it has another file.
  ///
  /// - Parameter last: where to go on; nil for the start.
  /// - Throws: ``StoreError`` `zoneUnknown`, `system`.
  /// - Complexity: linear in what the remote was not given; it looks at each one's file.
  package func nextUnsentAsset(of zone: ZoneID, after last: AssetReference?) throws -> AssetReference? {
    try read { transaction in
      let number = try transaction.readView.zones.number(of: zone)
      var found: AssetReference?
      try transaction.readView.assets.forEach(of: number, .unsent, after: last) { asset, damaged in
        guard let file = try assetFile(asset), file.byteCount == asset.byteCount, file.inode != damaged
        else { return true }
        found = asset
        return false
      }
      return found
    }
  }

  /// Finds out what is wrong with the file of an asset that a zone's remote is to have, and notes that it does not have
  /// it: a segment that names it may be shipped all the same.
  ///
  /// - Returns: how the file is now.
  /// - Throws: ``StoreError`` `full`, `system`; `CancellationError`.
  package func noteUnsentAsset(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID
  ) async throws -> AssetCondition {
    // Looked at first: if the file is replaced meanwhile, it is the former one that is damaged.
    let inode = try assetFile(asset)?.inode
    let condition = try await assetThreads.run(.waits) { [self] call in
      try checkAsset(asset) { _ in try call.checkCancellation() }
    }
    try await noteUnsentAsset(asset, in: zone, incarnation, damaged: condition == .damaged ? inode ?? 0 : 0)
    return condition
  }

  /// The same of an asset whose file is here: something at the remote keeps it from being there.
  package func noteUndeliverableAsset(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID
  ) async throws {
    try await noteUnsentAsset(asset, in: zone, incarnation, damaged: 0)
  }

  private func noteUnsentAsset(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID, damaged: UInt64
  ) async throws {
    let isNews = try read { transaction in
      let number = try transaction.zoneNumber(of: zone, incarnation)
      return try number.map { try transaction.isNews(damaged, of: asset, in: $0) } ?? false
    }
    guard isNews else { return }
    try await perform { store in
      try store.storage.assets.noteUnsent(asset, in: zone, incarnation, damaged)
    }
  }

  /// Notes that a zone's remote has an asset.
  package func noteAssetSent(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID
  ) async throws {
    let isUnsent = try read { transaction in
      guard let number = try transaction.zoneNumber(of: zone, incarnation) else { return false }
      return try transaction.readView.assets.number(of: asset, in: number, .unsent) != nil
    }
    guard isUnsent else { return }
    try await perform { store in
      try store.storage.assets.noteSent(asset, in: zone, incarnation)
    }
  }

  /// The file that has an asset's name; nil if there is none.
  private func assetFile(_ asset: AssetReference) throws -> AssetCalls.Status? {
    do {
      let status = try assets.calls.status(of: assets.path(of: asset.hash))
      return status.flatMap { $0.isRegular ? $0 : nil }
    } catch {
      throw StoreError.translate(error)
    }
  }
}

/// An asset that is not here, and where the log ended when it was looked for.
package struct WantedAsset: Hashable, Sendable {
  /// Nil: there is none.
  package var reference: AssetReference?
  package var logEnd: Position

  package init(_ reference: AssetReference?, logEnd: Position) {
    self.reference = reference
    self.logEnd = logEnd
  }
}

extension ReadTransaction {
  /// Whether anybody waits for an asset's file to come.
  fileprivate func isAwaited(_ asset: AssetReference) throws -> Bool {
    for (zone, _) in try readView.assets.zonesNaming(asset) {
      if try readView.assets.number(of: asset, in: zone, .wanted) != nil { return true }
      if try readView.assets.number(of: asset, in: zone, .unsent) ?? 0 != 0 { return true }
    }
    return false
  }

  /// The number of a zone that is attached to a life of its remote log; nil if it is not, or to another one.
  fileprivate func zoneNumber(of zone: ZoneID, _ incarnation: IncarnationID) throws -> ZoneNumber? {
    try readView.zones.number(of: zone, attachedTo: incarnation)
  }

  fileprivate func isNews(_ damaged: UInt64, of asset: AssetReference, in zone: ZoneNumber) throws -> Bool {
    let name = TableKey.assetName(asset, in: zone)
    guard try transaction.contains(name.span, in: tables.assets) else { return false }
    return try readView.assets.number(of: asset, in: zone, .unsent) != damaged
  }
}

extension AssetTable where Source == TableStorage {
  fileprivate func noteUnsent(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID, _ damaged: UInt64
  ) throws {
    // What no transaction names would stay in the list for ever.
    guard let number = try zones.number(of: zone, attachedTo: incarnation),
      try transaction.contains(TableKey.assetName(asset, in: number).span, in: tables.assets)
    else { return }
    try setNumber(damaged, of: asset, in: number, .unsent)
  }

  fileprivate func noteSent(_ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID) throws {
    guard let number = try zones.number(of: zone, attachedTo: incarnation) else { return }
    let key = TableKey.asset(asset, of: number, .unsent)
    _ = try transaction.delete(key.span, in: tables.assets)
  }
}
