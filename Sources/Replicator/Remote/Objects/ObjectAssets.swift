internal import OperationFormat

/// Assets as objects beside the log of their zone's incarnation: chunks, and last the manifest.
///
/// The name of an object determines its bytes. So an object that exists is compared, and one with other bytes
/// is damaged: a writer that has the right bytes replaces it.
struct ObjectAssets: Sendable {
  /// How often to replace an object that another writer replaces at the same time.
  private static let replacementsMax = 16

  let objects: any ObjectStore
  let zones: any LogStates

  func state(of asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    if let fate = try await zones.fate(of: asset.zone, asset.incarnation, checkedAt: 0) { return .gone(fate) }
    if let manifest = try await manifest(of: asset) { return .whole(manifest) }
    // Chunks are put in order. If one is missing nevertheless, `finish` finds it.
    var (there, absent) = (UInt64(0), AssetManifest.chunkCount(of: asset.reference) + 1)
    while absent - there > 1 {
      let middle = there + (absent - there) / 2
      if try await hasChunk(middle - 1, of: asset) { there = middle } else { absent = middle }
    }
    return .partial(chunks: there)
  }

  func putChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    _ = try await zones.fate(of: asset.zone, asset.incarnation, checkedAt: 0)
    guard bytes.count == AssetManifest.byteCount(ofChunk: index, of: asset.reference), !bytes.isEmpty else {
      throw RemoteError(
        .mismatch, "chunk \(index) of \(asset) cannot have \(bytes.count) bytes",
        hint: "this is a bug of the replicator: please report it")
    }
    try await put(bytes, as: .assetChunk(index, of: asset.reference.hash, in: asset.incarnation))
  }

  func finish(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    let asset = RemoteAsset(manifest.asset, of: zone, incarnation)
    if let fate = try await zones.fate(of: zone, incarnation, checkedAt: 0) { return .gone(fate) }
    for index in 0..<UInt64(manifest.chunks.count) {
      if try await !hasChunk(index, of: asset) { return .partial(chunks: index) }
    }
    try await put(manifest.bytes, as: .assetManifest(of: manifest.asset.hash, in: incarnation))
    return .whole(manifest)
  }

  func chunk(
    at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) -> [UInt8]? {
    _ = try await zones.fate(of: asset.zone, asset.incarnation, checkedAt: 0)
    let name = ObjectName.assetChunk(index, of: asset.reference.hash, in: asset.incarnation)
    do throws(RemoteError) {
      return try await objects.get(name, bytesMax: AssetManifest.chunkBytes)
    } catch {
      throw error.ofAsset(name)
    }
  }

  private func manifest(of asset: RemoteAsset) async throws(RemoteError) -> AssetManifest? {
    let name = ObjectName.assetManifest(of: asset.reference.hash, in: asset.incarnation)
    let bytes: [UInt8]?
    do throws(RemoteError) {
      bytes = try await objects.get(name, bytesMax: AssetManifest.bytesMax)
    } catch {
      throw error.ofAsset(name)
    }
    guard let bytes else { return nil }
    let manifest: AssetManifest
    do throws(FormatError) {
      manifest = try AssetManifest(decoding: bytes.span.bytes)
    } catch {
      throw RemoteError.damaged(.damagedAsset, name, error).ofAsset(name)
    }
    guard manifest.asset == asset.reference else {
      throw RemoteError(
        .damagedAsset,
        "\(name) is the manifest of asset \(manifest.asset.hash) with \(manifest.asset.byteCount) bytes; "
          + "\(asset.reference.byteCount) bytes were expected",
        hint: "one of the two is wrong: a store that has the asset repairs it with `uploadAsset`")
    }
    return manifest
  }

  private func hasChunk(_ index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> Bool {
    let name = ObjectName.assetChunk(index, of: asset.reference.hash, in: asset.incarnation)
    do throws(RemoteError) {
      let found = try await objects.getPrefix(name, 1)
      return found?.totalBytes == UInt64(AssetManifest.byteCount(ofChunk: index, of: asset.reference))
    } catch {
      throw error.ofAsset(name)
    }
  }

  /// Puts an object, and replaces one that has other bytes.
  private func put(_ bytes: [UInt8], as name: ObjectName) async throws(RemoteError) {
    do throws(RemoteError) {
      try await replace(name, with: bytes)
    } catch {
      throw error.ofAsset(name)
    }
  }

  private func replace(_ name: ObjectName, with bytes: [UInt8]) async throws(RemoteError) {
    for _ in 0..<Self.replacementsMax {
      if try await objects.putIfAbsent(name, bytes) { return }
      let found = try await get(name, bytesMax: bytes.count)
      if found == bytes { return }
      // It may have been damaged in transit. To delete a good object, and then to crash, would leave a hole.
      let again = try await get(name, bytesMax: bytes.count)
      if again == bytes { return }
      if again != nil, again == found { try await objects.delete(name) }
    }
    throw RemoteError.unreadable(name)
  }

  /// The bytes of an object; none if it is larger, or is not an object.
  private func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    do throws(RemoteError) {
      return try await objects.get(name, bytesMax: bytesMax)
    } catch {
      if error.code != .damaged { throw error }
      return []
    }
  }
}

extension RemoteError {
  /// The same error, about one part of an asset.
  func ofAsset(_ name: ObjectName) -> RemoteError {
    var error =
      switch code {
      case .damaged, .newerFormat: RemoteError(.damagedAsset, message, hint: hint, underlying: underlying)
      default: self
      }
    error.assetPath = name.description
    return error
  }
}
