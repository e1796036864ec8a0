public import OperationFormat

/// Assets: bytes that are kept in files beside the data file, named by their hash.
extension LocalStore {
  /// Copies a file into the store, as an asset that a write can name.
  ///
  /// ```swift
  /// let photo = try await store.importAsset(file: "/tmp/photo.jpg")
  /// try await store.write { tx in try tx.set("photo", of: person, to: .asset(photo)) }
  /// ```
  ///
  /// It is read piece by piece. Until a write that names it is committed it is kept for a day, also if the
  /// process ends.
  /// - Throws: ``StoreError`` `readOnly`, `full`, `valueInvalid` for more than 1 TiB, `system`;
  ///   `CancellationError`.
  /// - Complexity: linear in the bytes; memory for one piece of 256 KiB.
  @concurrent public func importAsset(file path: String) async throws -> AssetReference {
    try await AssetImport(core).run(file: path)
  }

  /// Writes a stream of bytes into the store, as an asset that a write can name. As ``importAsset(file:)``.
  ///
  /// - Parameter pieces: the bytes, in order. One piece at a time is in memory.
  /// - Throws: what the stream throws, and as ``importAsset(file:)``.
  @concurrent public func importAsset<Pieces: AsyncSequence>(
    stream pieces: sending Pieces
  ) async throws -> AssetReference where Pieces.Element == [UInt8] {
    try await AssetImport(core).run { incoming in
      for try await piece in pieces {
        try piece.withUnsafeBytes { try incoming.append($0) }
      }
      try Task.checkCancellation()
    }
  }

  /// Writes bytes into the store, as an asset that a write can name. As ``importAsset(file:)``.
  @concurrent public func importAsset(bytes: [UInt8]) async throws -> AssetReference {
    try await AssetImport(core).run { incoming in try bytes.withUnsafeBytes { try incoming.append($0) } }
  }

  /// Opens an asset for reading.
  ///
  /// - Throws: ``StoreError`` `assetMissing` if it is not here; `assetDamaged` if its file has another size;
  ///   `system`.
  public func openAsset(_ asset: AssetReference) throws -> AssetReader { try core.assets.open(asset) }

  /// The path of an asset's file, for code that can only read files. The file must not be changed.
  ///
  /// It is valid while something in the store names the asset. A file that was opened stays readable whatever
  /// comes.
  /// - Throws: ``StoreError``, as ``openAsset(_:)``.
  public func assetPath(_ asset: AssetReference) throws -> String {
    _ = try core.assets.open(asset)
    return core.assets.path(of: asset.hash)
  }

  /// Whether an asset is here, by its file's size.
  ///
  /// - Throws: ``StoreError`` `system`.
  public func hasAsset(_ asset: AssetReference) throws -> Bool {
    try StoreError.translating { try core.assets.isHere(asset) }
  }

  /// Reads an asset's file and compares it with its hash.
  ///
  /// - Throws: ``StoreError`` `system`.
  /// - Complexity: linear in the bytes
  public func checkAsset(_ asset: AssetReference) throws -> AssetCondition {
    try core.assets.condition(of: asset) { _ in }
  }

  /// As ``checkAsset(_:)``.
  ///
  /// - Parameter progress: called after each piece of at most 256 KiB; what it throws ends the work.
  package func checkAsset(_ asset: AssetReference, progress: (Int) throws -> Void) throws -> AssetCondition {
    try core.assets.condition(of: asset, progress: progress)
  }

  /// Lists the assets that the log names, in the order of their hashes.
  ///
  /// - Parameter body: gets each; it returns false to end.
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`; what the closure throws.
  /// - Complexity: linear in the assets; it looks at each one's file.
  public func forEachAsset(_ body: (NamedAsset) throws -> Bool) throws {
    try read { try $0.forEachAsset(in: core.assets, body) }
  }

  /// Lists the assets that the log of a zone names, as ``forEachAsset(_:)`` does. Rows of other zones are not
  /// read: they may be damaged.
  package func forEachAsset(namedIn zone: ZoneID, _ body: (NamedAsset) throws -> Bool) throws {
    try read { try $0.forEachAsset(in: core.assets, of: zone, body) }
  }

  /// Decides when the assets of a zone are downloaded.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, and as ``write(_:)``.
  public func setAssetPolicy(_ policy: AssetPolicy, of zone: ZoneID) async throws {
    try await core.perform { store in
      try store.storage.assets.setPolicy(policy, of: try store.storage.zones.visible(zone).number)
    }
  }
}
