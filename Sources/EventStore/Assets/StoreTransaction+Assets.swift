import OperationFormat

/// Counting what transactions of the log name.
extension StoreTransaction {
  /// Notes that a zone's remote may lack assets that a transaction of the log names, of those that are here.
  func noteUnsentAssets(in body: RawSpan, _ zone: ZoneNumber) throws {
    var layout = BodyDecoder()
    try layout.parse(body)
    var assets: [AssetReference] = []
    try layout.operations.appendAssets(in: body, to: &assets)
    for asset in assets where try isHere(asset) {
      let known = try storage.tables.number(of: asset, in: zone, .unsent, storage.transaction)
      if known == nil { try storage.setNumber(0, of: asset, in: zone, .unsent) }
    }
  }

  /// Counts the assets that a transaction names which was appended to the log, each once.
  func countAssets(_ assets: [AssetReference], in zone: ZoneNumber) throws {
    var counted: Set<AssetReference> = []
    for asset in assets where counted.insert(asset).inserted {
      try storage.countName(of: asset, in: zone, isHere: try isHere(asset))
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
    try storage.logReader.withEntry(at: position, storage.transaction) { _, body in
      try layout.parse(body)
      try layout.operations.appendAssets(in: body, to: &assets)
    }
    for asset in Set(assets) { try storage.uncountName(of: asset, in: zone) }
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
