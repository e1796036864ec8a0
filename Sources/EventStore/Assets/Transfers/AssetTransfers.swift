import LMDB
package import OperationFormat

/// Answers what a replicator asks of the assets of a zone, and notes what it did.
package struct AssetTransfers: Sendable {
  private let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  /// Whether anything in a zone's log names an asset.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func hasNamed(in zone: ZoneID) throws -> Bool {
    try core.read { transaction in
      let number = try transaction.readView.zones.number(of: zone)
      return try transaction.readView.assets.hasAny(in: number, .named)
    }
  }

  // MARK: Downloads

  /// The next asset that a zone's log names and that is not here, in the order of their hashes.
  ///
  /// - Parameters:
  ///   - last: the asset to continue after; nil for the start.
  ///   - position: only those that a transaction after it names; nil for all.
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func nextWanted(
    of zone: ZoneID, after last: AssetReference?, namedAfter position: Position? = nil
  ) throws -> WantedAsset {
    try core.read { transaction in
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
  package func noteArrival(of asset: AssetReference) async throws {
    let isAwaited = try core.read { try $0.isAwaited(asset) }
    // Each commit starts another round of sync: none where nothing changes.
    if isAwaited { try await core.perform { try $0.storage.assets.noteArrival(of: asset) } }
  }

  /// Opens the file of an asset that is being downloaded, and makes it if there is none.
  ///
  /// - Returns: nil if another task or process downloads it.
  /// - Throws: ``StoreError`` `readOnly`, `full`, `valueInvalid` for more bytes than an asset may have,
  ///   `system`.
  package func partial(_ asset: AssetReference) throws -> PartialAsset? {
    guard !core.configuration.isReadOnly else { throw StoreError.readOnly(core.directory) }
    guard asset.byteCount <= AssetFiles.byteCountMax else {
      throw StoreError(
        .valueInvalid, "asset \(asset.hash) has \(asset.byteCount) bytes by its reference",
        hint: "no asset has over \(AssetFiles.byteCountMax): the reference is wrong")
    }
    do {
      return try PartialAsset(asset, core.assets)
    } catch {
      throw StoreError.translate(error)
    }
  }

  // MARK: Uploads

  /// The next asset that a zone's remote was not given and that is here now, in the order of their hashes.
  /// One whose file was found damaged is here again once it has another file.
  ///
  /// - Parameter last: the asset to continue after; nil for the start.
  /// - Throws: ``StoreError`` `zoneUnknown`, `system`.
  /// - Complexity: linear in what the remote was not given; it looks at each one's file.
  package func nextUnsent(of zone: ZoneID, after last: AssetReference?) throws -> AssetReference? {
    try core.read { transaction in
      let number = try transaction.readView.zones.number(of: zone)
      var found: AssetReference?
      try transaction.readView.assets.forEach(of: number, .unsent, after: last) { asset, damaged in
        guard let file = try core.assets.status(of: asset), file.byteCount == asset.byteCount,
          file.inode != damaged
        else { return true }
        found = asset
        return false
      }
      return found
    }
  }

  /// Finds out what is wrong with the file of an asset that a zone's remote is to have, and notes that it
  /// does not have it: a segment that names it may be shipped all the same.
  ///
  /// - Returns: how the file is now.
  /// - Throws: ``StoreError`` `full`, `system`; `CancellationError`.
  package func noteUnsent(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID
  ) async throws -> AssetCondition {
    // The inode is read first: if the file is replaced while it is checked, the former file is the damaged
    // one.
    let inode = try core.assets.status(of: asset)?.inode
    let condition = try await core.fileThreads.run(.waits) { [assets = core.assets] call in
      try assets.condition(of: asset) { _ in try call.checkCancellation() }
    }
    try await noteUnsent(asset, in: zone, incarnation, damaged: condition == .damaged ? inode ?? 0 : 0)
    return condition
  }

  /// Notes that a zone's remote does not have an asset whose file is here: the remote has not taken it.
  package func noteUndeliverable(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID
  ) async throws {
    try await noteUnsent(asset, in: zone, incarnation, damaged: 0)
  }

  /// - Parameter damaged: the inode of the file that was found damaged; 0 for none.
  private func noteUnsent(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID, damaged: UInt64
  ) async throws {
    let isNews = try core.read { transaction in
      let number = try transaction.readView.zones.number(of: zone, attachedTo: incarnation)
      return try number.map { try transaction.isNews(damaged, of: asset, in: $0) } ?? false
    }
    guard isNews else { return }
    try await core.perform { store in
      try store.storage.assets.noteUnsent(asset, in: zone, incarnation, damaged)
    }
  }

  /// Notes that a zone's remote has an asset.
  package func noteSent(
    _ asset: AssetReference, in zone: ZoneID, _ incarnation: IncarnationID
  ) async throws {
    let isUnsent = try core.read { transaction in
      guard let number = try transaction.readView.zones.number(of: zone, attachedTo: incarnation) else {
        return false
      }
      return try transaction.readView.assets.number(of: asset, in: number, .unsent) != nil
    }
    guard isUnsent else { return }
    try await core.perform { store in
      try store.storage.assets.noteSent(asset, in: zone, incarnation)
    }
  }
}

/// An asset that is not here, and where the log ended when it was looked for.
package struct WantedAsset: Hashable, Sendable {
  /// Nil: there is none.
  package var reference: AssetReference?
  package var logEnd: Position

  init(_ reference: AssetReference?, logEnd: Position) {
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
    // What no transaction names would never leave the list.
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
