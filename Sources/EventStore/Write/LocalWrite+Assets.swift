import OperationFormat

/// Assets that a write makes or names. Files are written before the commit that names them: a file whose commit fails is
/// collected.
extension LocalWrite {
  /// What is stored of a change: an asset in the place of many bytes. An element of a set stays what it is.
  func storing(_ change: FieldChange) throws -> FieldChange {
    if change.fieldKind.with({ $0.identityIsValue }) { return change }
    return try change.mapValues { try storing($0) }
  }

  @inline(__always)
  func storing(_ value: Value) throws -> Value {
    guard case .bytes(let bytes) = value, bytes.count > assetThresholdBytes, let assetFiles = store.assetFiles
    else {
      return value
    }
    return try store.makeAsset(of: bytes, in: assetFiles)
  }
}
