import OperationFormat

/// A file that is being written, hashed as it grows. If it is not published it goes with this object, or with
/// the next sweep.
///
/// A class, since its end takes the file away.
final class IncomingAsset {
  private let files: AssetFiles
  private let file: OpenFile
  private let path: String
  private var hasher = ContentHasher()
  private var byteCount: UInt64 = 0
  private var isPublished = false

  init(_ files: AssetFiles, _ file: consuming OpenFile, _ path: String) {
    self.files = files
    self.file = file
    self.path = path
  }

  deinit {
    guard !isPublished else { return }
    do {
      try files.calls.remove(path)
    } catch {
      // It stays until a store is opened here again.
    }
  }

  /// Adds the next bytes.
  ///
  /// - Throws: ``StoreError`` `full`, `valueInvalid` if it gets larger than an asset may be, `system`.
  func append(_ bytes: UnsafeRawBufferPointer) throws {
    guard byteCount + UInt64(bytes.count) <= AssetFiles.byteCountMax else {
      throw StoreError(
        .valueInvalid, "an asset has over \(AssetFiles.byteCountMax) bytes", hint: "split it into several")
    }
    do {
      try files.calls.write(file, at: byteCount, bytes, path)
    } catch {
      throw StoreError.translate(error)
    }
    hasher.update(bytes.bytes)
    byteCount += UInt64(bytes.count)
  }

  /// Ends the writing.
  ///
  /// - Returns: what the asset is called.
  func finish() throws -> AssetReference {
    do {
      if files.isSynced { try files.calls.sync(file, path) }
    } catch {
      throw StoreError.translate(error)
    }
    return AssetReference(hash: hasher.finish(), byteCount: byteCount)
  }

  /// Gives the file, which is finished, its asset's name.
  func publish() throws {
    do {
      try files.publish(path, as: hasher.finish())
      isPublished = true
    } catch {
      throw StoreError.translate(error)
    }
  }
}
