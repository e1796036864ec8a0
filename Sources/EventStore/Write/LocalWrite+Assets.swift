import OperationFormat

/// Assets that a write makes or names. A file is written before the commit that names it; if the commit
/// fails, the file is collected.
extension LocalWrite {
  /// The change to store: large bytes become an asset. Elements of sets stay as they are.
  func storing(_ change: FieldChange) throws -> FieldChange {
    if change.fieldKind.with({ $0.identityIsValue }) { return change }
    return try change.mapValues { value throws(any Error) in try storing(value) }
  }

  /// The value to store: large bytes become an asset.
  @inline(__always)
  func storing(_ value: Value) throws -> Value {
    guard case .bytes(let bytes) = value, bytes.count > assetThresholdBytes, let assetFiles = store.assetFiles
    else {
      return value
    }
    return try store.makeAsset(of: bytes, in: assetFiles)
  }
}
