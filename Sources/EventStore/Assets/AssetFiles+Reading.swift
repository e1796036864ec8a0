import OperationFormat

extension AssetFiles {
  /// Opens an asset for reading.
  ///
  /// - Throws: ``StoreError`` `assetMissing`, `assetDamaged` if its file has another size, `system`.
  func open(_ asset: AssetReference) throws -> AssetReader {
    let path = path(of: asset.hash)
    let status: FileCalls.Status
    do throws(FileError) {
      let file = try calls.openFile(path)
      status = try calls.status(of: file, path)
      if status.isRegular, status.byteCount == asset.byteCount {
        return AssetReader(asset, self, file, path)
      }
    } catch {
      throw error.isNoSuchFile ? StoreError.missingAsset(asset) : error.storeError
    }
    throw StoreError.damagedAsset(
      asset, status.isRegular ? "has \(status.byteCount) bytes instead" : "is no file")
  }

  /// Reads an asset's file and compares it with its hash.
  ///
  /// - Parameter progress: called after each piece of at most 256 KiB; what it throws ends the work.
  func condition(of asset: AssetReference, progress: (Int) throws -> Void) throws -> AssetCondition {
    let path = path(of: asset.hash)
    do {
      let file = try calls.openFile(path)
      guard try calls.status(of: file, path).byteCount == asset.byteCount else { return .damaged }
      return try hash(file, path, progress: progress) == asset ? .whole : .damaged
    } catch {
      if let error = error as? FileError {
        if error.isNoSuchFile { return .missing }
        if error.isUnreadable { return .damaged }
      }
      throw StoreError.translate(error)
    }
  }

  /// The file that has an asset's name; nil if there is none.
  func status(of asset: AssetReference) throws -> FileCalls.Status? {
    do {
      let status = try calls.status(of: path(of: asset.hash))
      return status.flatMap { $0.isRegular ? $0 : nil }
    } catch {
      throw StoreError.translate(error)
    }
  }
}
