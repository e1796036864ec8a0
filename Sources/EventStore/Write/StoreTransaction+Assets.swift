import OperationFormat

/// The assets that writes make and name, and those that transactions of the log name.
extension StoreTransaction {
  /// Writes bytes as an asset's file, and gives the asset.
  func makeAsset(of bytes: [UInt8], in assetFiles: AssetFiles) throws -> Value {
    do {
      // Also if such a file exists: it may be damaged, and its writer may have crashed before the name was
      // synced.
      let incoming = try assetFiles.begin()
      try bytes.withUnsafeBytes { try incoming.append($0) }
      let asset = try incoming.finish()
      try incoming.publish()
      // The first transaction that names it records that it arrived.
      try storage.assets.hold(asset.hash, untilMilliseconds: 0)
      return .asset(asset)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Checks that each asset in values exists: its file is here, or a transaction names it.
  ///
  /// - Returns: the assets that they name.
  /// - Throws: ``StoreError`` `assetMissing`.
  func knownAssets(in values: [Value]) throws -> [AssetReference] {
    var assets: [AssetReference] = []
    for value in values where value.mayNameAssets { value.appendAssets(to: &assets) }
    for asset in assets {
      guard try isHere(asset) || storage.assets.isNamed(asset) else {
        throw StoreError.missingAsset(asset)
      }
    }
    return assets
  }

  /// Records that a zone's remote may lack assets that a transaction of the log names and that are here.
  func noteUnsentAssets(in body: RawSpan, _ zone: ZoneNumber) throws {
    var decoder = BodyDecoder()
    try decoder.parse(body)
    var assets: [AssetReference] = []
    try decoder.operations.appendAssets(in: body, to: &assets)
    for asset in assets { try noteUnsent(asset, in: zone) }
  }

  /// Records that a zone's remote may lack an asset, if that is here.
  func noteUnsent(_ asset: AssetReference, in zone: ZoneNumber) throws {
    guard try isHere(asset), try storage.assets.number(of: asset, in: zone, .unsent) == nil else { return }
    try storage.assets.setNumber(0, of: asset, in: zone, .unsent)
  }

  /// Counts the assets that a transaction names, each once, when it is appended to the log.
  func countAssets(_ assets: [AssetReference], in zone: ZoneNumber) throws {
    var counted: Set<AssetReference> = []
    for asset in assets where counted.insert(asset).inserted {
      try storage.assets.countName(of: asset, in: zone, isHere: try isHere(asset))
    }
  }

  /// Counts the assets that a transaction of the log names, by its layout. Operations of an unknown kind are
  /// not read.
  func countAssets(of operations: [OperationLayout], _ body: RawSpan, in zone: ZoneNumber) throws {
    var assets: [AssetReference] = []
    try operations.appendAssets(in: body, to: &assets)
    if !assets.isEmpty { try countAssets(assets, in: zone) }
  }

  /// Takes back the counts of a transaction that is removed from the log, and not issued again in another
  /// lane.
  func uncountAssets(at position: Position, in zone: ZoneNumber) throws {
    var decoder = BodyDecoder()
    var assets: [AssetReference] = []
    try storage.log.withEntry(at: position) { _, body in
      try decoder.parse(body)
      try decoder.operations.appendAssets(in: body, to: &assets)
    }
    for asset in Set(assets) { try storage.assets.uncountName(of: asset, in: zone) }
  }

  func isHere(_ asset: AssetReference) throws -> Bool {
    do {
      return try assetFiles?.isHere(asset) ?? false
    } catch {
      throw StoreError.translate(error)
    }
  }
}

extension [OperationLayout] {
  /// Adds the assets that a transaction's operations name, in their order.
  func appendAssets(in body: RawSpan, to assets: inout [AssetReference]) throws(FormatError) {
    for operation in self where !operation.operand.isEmpty {
      try FieldChange.appendAssets(operation.kind, in: body.extracting(operation.operand), to: &assets)
    }
  }
}
