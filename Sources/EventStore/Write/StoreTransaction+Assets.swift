import OperationFormat

/// The assets that writes make and name, and those that transactions of the log name.
extension StoreTransaction {
  /// Writes bytes as an asset's file, and gives the asset.
  func makeAsset(of bytes: [UInt8], in assetFiles: AssetFiles) throws -> Value {
    do {
      // Also where there is such a file already: nobody has looked whether it is damaged, and whoever wrote it may not
      // have lived to make its name last.
      let incoming = try assetFiles.begin()
      try bytes.withUnsafeBytes { try incoming.append($0) }
      let asset = try incoming.finish()
      try incoming.publish()
      // Who names it first notes that it has come.
      try storage.assets.hold(asset.hash, untilMilliseconds: 0)
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
      guard try isHere(asset) || storage.assets.isNamed(asset) else {
        throw StoreError.missingAsset(asset)
      }
    }
    return assets
  }

  /// Notes that a zone's remote may lack assets that a transaction of the log names, of those that are here.
  func noteUnsentAssets(in body: RawSpan, _ zone: ZoneNumber) throws {
    var layout = BodyDecoder()
    try layout.parse(body)
    var assets: [AssetReference] = []
    try layout.operations.appendAssets(in: body, to: &assets)
    for asset in assets where try isHere(asset) {
      let known = try storage.assets.number(of: asset, in: zone, .unsent)
      if known == nil { try storage.assets.setNumber(0, of: asset, in: zone, .unsent) }
    }
  }

  /// Counts the assets that a transaction names which was appended to the log, each once.
  func countAssets(_ assets: [AssetReference], in zone: ZoneNumber) throws {
    var counted: Set<AssetReference> = []
    for asset in assets where counted.insert(asset).inserted {
      try storage.assets.countName(of: asset, in: zone, isHere: try isHere(asset))
    }
  }

  /// Counts the assets that a transaction of the log names, by its layout. What is in operations of an unknown kind
  /// cannot be seen.
  func countAssets(of operations: [OperationLayout], _ body: RawSpan, in zone: ZoneNumber) throws {
    var assets: [AssetReference] = []
    try operations.appendAssets(in: body, to: &assets)
    if !assets.isEmpty { try countAssets(assets, in: zone) }
  }

  /// Takes back what was counted of a transaction that is taken out of the log, and does not come back as another lane's.
  func uncountAssets(at position: Position, in zone: ZoneNumber) throws {
    var layout = BodyDecoder()
    var assets: [AssetReference] = []
    try storage.log.withEntry(at: position) { _, body in
      try layout.parse(body)
      try layout.operations.appendAssets(in: body, to: &assets)
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
