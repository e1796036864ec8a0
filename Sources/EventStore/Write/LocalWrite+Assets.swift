import OperationFormat

/// Assets that a write makes or names. Files are written before the commit that names them: a file whose commit fails is
/// collected.
extension LocalWrite {
  /// What is stored of a change: an asset in the place of many bytes. An element of a set stays what it is.
  func storing(_ change: FieldChange) throws -> FieldChange {
    if case .insert = change { return change }
    return try change.mapValues { try storing($0) }
  }

  @inline(__always)
  func storing(_ value: Value) throws -> Value {
    guard case .bytes(let bytes) = value, bytes.count > assetThresholdBytes, let assetFiles = store.assetFiles
    else {
      return value
    }
    return try makeAsset(of: bytes, in: assetFiles)
  }

  private func makeAsset(of bytes: [UInt8], in assetFiles: AssetFiles) throws -> Value {
    do {
      // Also where there is such a file already: nobody has looked whether it is damaged, and whoever wrote it may not
      // have lived to make its name last.
      let incoming = try assetFiles.begin()
      try bytes.withUnsafeBytes { try incoming.append($0) }
      let asset = try incoming.finish()
      try incoming.publish()
      // Who names it first notes that it has come.
      try storage.holdAsset(asset.hash, untilMilliseconds: 0)
      return .asset(asset)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Checks that values name no asset that nobody could ever have.
  ///
  /// - Returns: the assets that they name.
  /// - Throws: ``StoreError`` `assetMissing`.
  func knownAssets(in values: [Value]) throws -> [AssetReference] {
    var assets: [AssetReference] = []
    for value in values where value.mayNameAssets { value.appendAssets(to: &assets) }
    for asset in assets {
      guard try store.isHere(asset) || storage.tables.isNamed(asset, storage.transaction) else {
        throw StoreError.missingAsset(asset)
      }
    }
    return assets
  }
}
