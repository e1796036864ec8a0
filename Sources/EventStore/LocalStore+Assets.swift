public import OperationFormat

/// How an asset's file is.
public enum AssetCondition: Hashable, Sendable {
  /// It has the bytes that its hash says.
  case whole
  /// There is none.
  case missing
  /// It has other bytes, or cannot be read.
  case damaged
}

/// Assets: bytes that are kept in files beside the data file, named by their hash.
extension LocalStore {
  /// How long an asset that was imported is kept while nothing names it: a day.
  static let heldMilliseconds: Int64 = 86_400_000

  /// Copies a file into the store, as an asset that a write can name.
  ///
  /// ```swift
  /// let photo = try await store.importAsset(file: "/tmp/photo.jpg")
  /// try await store.write { tx in try tx.set("photo", of: person, to: .asset(photo)) }
  /// ```
  ///
  /// It is read piece by piece. Until a write that names it is committed it is kept for a day, also if the process ends.
  /// - Throws: ``StoreError`` `readOnly`, `full`, `valueInvalid` for more than 1 TiB, `system`; `CancellationError`.
  /// - Complexity: linear in the bytes; memory for one piece of 256 KiB.
  @concurrent public func importAsset(file path: String) async throws -> AssetReference {
    try await importAsset { incoming in
      // Safe: this task waits until the thread is done with it.
      nonisolated(unsafe) let incoming = incoming
      try await assetThreads.run(.waits) { [assets] call in
        do {
          let source = try assets.calls.openFile(path)
          var buffer = [UInt8](repeating: 0, count: AssetFiles.pieceBytes)
          var offset: UInt64 = 0
          while true {
            try call.checkCancellation()
            let at = offset
            let count = try buffer.withUnsafeMutableBytes { piece in
              let count = try assets.calls.read(source, at: at, into: piece, path)
              try incoming.append(UnsafeRawBufferPointer(rebasing: piece[..<count]))
              return count
            }
            if count == 0 { return }
            offset += UInt64(count)
          }
        } catch {
          throw StoreError.translate(error)
        }
      }
    }
  }

  /// Writes a stream of bytes into the store, as an asset that a write can name. As ``importAsset(file:)``.
  ///
  /// - Parameter pieces: the bytes, in order. One piece at a time is in memory.
  /// - Throws: what the stream throws, and as ``importAsset(file:)``.
  @concurrent public func importAsset<Pieces: AsyncSequence>(
    stream pieces: sending Pieces
  ) async throws -> AssetReference where Pieces.Element == [UInt8] {
    try await importAsset { incoming in
      for try await piece in pieces {
        try piece.withUnsafeBytes { try incoming.append($0) }
      }
      try Task.checkCancellation()
    }
  }

  /// Writes bytes into the store, as an asset that a write can name. As ``importAsset(file:)``.
  @concurrent public func importAsset(bytes: [UInt8]) async throws -> AssetReference {
    try await importAsset { incoming in try bytes.withUnsafeBytes { try incoming.append($0) } }
  }

  /// Lets a body write a file, and makes it an asset.
  private func importAsset(_ write: (IncomingAsset) async throws -> Void) async throws -> AssetReference {
    guard !configuration.isReadOnly else { throw StoreError.readOnly(directory) }
    let incoming: IncomingAsset
    do {
      incoming = try assets.begin()
    } catch {
      throw StoreError.translate(error)
    }
    try await write(incoming)
    // Safe: this task waits until the thread is done with it.
    nonisolated(unsafe) let written = incoming
    let asset = try await assetThreads.run(.waits) { _ in try written.finish() }
    let until = UInt64(max(0, configuration.wallMilliseconds())) + UInt64(Self.heldMilliseconds)
    // Before the file has its name: whatever happens then, it is collected if nothing comes to name it.
    try await perform { store in
      try store.storage.assets.hold(asset.hash, untilMilliseconds: until)
    }
    try await assetThreads.run(.waits) { _ in try written.publish() }
    // Others may have named it before it was here.
    try await noteAssetArrival(asset)
    return asset
  }

  // MARK: Reading

  /// Opens an asset for reading.
  ///
  /// - Throws: ``StoreError`` `assetMissing` if it is not here; `assetDamaged` if its file has another size; `system`.
  public func openAsset(_ asset: AssetReference) throws -> AssetReader {
    let path = assets.path(of: asset.hash)
    let status: AssetCalls.Status
    do throws(AssetFileError) {
      let file = try assets.calls.openFile(path)
      status = try assets.calls.status(of: file, path)
      if status.isRegular, status.byteCount == asset.byteCount {
        return AssetReader(asset, assets, file, path)
      }
    } catch {
      throw error.isNoSuchFile ? StoreError.missingAsset(asset) : error.storeError
    }
    throw StoreError.damagedAsset(
      asset, status.isRegular ? "has \(status.byteCount) bytes instead" : "is no file")
  }

  /// The path of an asset's file, for those who can only read files. It must not be changed.
  ///
  /// It is valid while something in the store names the asset. A file that was opened stays readable whatever comes.
  /// - Throws: ``StoreError``, as ``openAsset(_:)``.
  public func assetPath(_ asset: AssetReference) throws -> String {
    _ = try openAsset(asset)
    return assets.path(of: asset.hash)
  }

  /// Whether an asset is here, by its file's size.
  ///
  /// - Throws: ``StoreError`` `system`.
  public func hasAsset(_ asset: AssetReference) throws -> Bool {
    do {
      return try assets.isHere(asset)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Reads an asset's file and compares it with its hash.
  ///
  /// - Throws: ``StoreError`` `system`.
  /// - Complexity: linear in the bytes
  public func checkAsset(_ asset: AssetReference) throws -> AssetCondition {
    try checkAsset(asset) { _ in }
  }

  /// As ``checkAsset(_:)``.
  ///
  /// - Parameter progress: called after each piece of at most 256 KiB; what it throws ends the work.
  package func checkAsset(
    _ asset: AssetReference, progress: (Int) throws -> Void
  ) throws -> AssetCondition {
    let path = assets.path(of: asset.hash)
    do {
      let file = try assets.calls.openFile(path)
      guard try assets.calls.status(of: file, path).byteCount == asset.byteCount else { return .damaged }
      return try assets.hash(file, path, progress: progress) == asset ? .whole : .damaged
    } catch {
      if let error = error as? AssetFileError {
        if error.isNoSuchFile { return .missing }
        if error.isUnreadable { return .damaged }
      }
      throw StoreError.translate(error)
    }
  }
}
