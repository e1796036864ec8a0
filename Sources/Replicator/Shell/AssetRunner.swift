import EventStore
import Synchronization

/// Transfers assets between a store and a remote, with one chunk in memory. The next try continues a transfer
/// that was cut short.
///
/// Files are read, written and hashed on the store's threads for assets, in pieces of 256 KiB; each piece
/// checks for cancellation.
struct AssetRunner: Sendable {
  /// How often an upload is tried whose chunks disappear, or a download whose bytes are wrong.
  private static let triesMax = 4
  /// The size of the pieces in which files are hashed.
  private static let pieceBytes = 256 << 10

  let store: LocalStore
  let remote: any RemoteLog
  let progress: (@Sendable (AssetProgress) -> Void)?
  private let memory = AssetMemory()

  init(store: LocalStore, remote: any RemoteLog, progress: (@Sendable (AssetProgress) -> Void)?) {
    self.store = store
    self.remote = remote
    self.progress = progress
  }

  // MARK: Up

  /// Uploads an asset. A failure of this store, such as too many open files, stops only the zone. Damage of
  /// the asset at the remote that cannot be replaced is a problem of this asset only.
  ///
  /// - Parameters:
  ///   - asset: which.
  ///   - chunksMax: the most chunks to put; nil for any number.
  ///   - isRepair: whether every chunk is put, so that those that are there are compared.
  func upload(_ asset: RemoteAsset, chunksMax: Int? = nil, isRepair: Bool = false) async throws
    -> AssetTransfer
  {
    do {
      let transfer = try await ship(asset, chunksMax, isRepair)
      if transfer.end == .whole {
        try await store.assetTransfers.noteSent(asset.reference, in: asset.zone, asset.incarnation)
      }
      return transfer
    } catch let error as StoreError {
      throw SyncFailure(.init(error.code), error.message, hint: error.hint, scope: .zone)
    } catch let error as RemoteError where error.code == .damagedAsset {
      // Recorded before anything is shipped without it.
      try await store.assetTransfers.noteUndeliverable(asset.reference, in: asset.zone, asset.incarnation)
      return AssetTransfer(.problem(.failed(SyncFailure(error))))
    }
  }

  private func ship(_ asset: RemoteAsset, _ chunksMax: Int?, _ isRepair: Bool) async throws -> AssetTransfer {
    var transfer = AssetTransfer(.whole)
    var first: UInt64 = 0
    var remoteSaysWhole = false
    var isRepair = isRepair
    if !isRepair, memory.isAtRemote(asset) { return transfer }
    do {
      switch try await remote.assetState(asset) {
      case .whole where isRepair: remoteSaysWhole = true
      case .whole(let found):
        // Anyone who may write there may have put a manifest that no file fits.
        guard let manifest = try await manifest(of: asset.reference), manifest != found else {
          memory.rememberAtRemote(asset)
          return transfer
        }
        isRepair = true
      case .gone: return AssetTransfer(.gone)
      case .partial(let chunks): first = isRepair ? 0 : chunks
      }
    } catch let error as RemoteError {
      // The manifest is damaged: all chunks are put again, and so compared.
      if error.code != .damagedAsset { throw error }
    }
    guard let manifest = try await manifest(of: asset.reference) else {
      return AssetTransfer(.problem(try await recordUnsent(asset)))
    }
    for _ in 0..<Self.triesMax {
      guard try await put(asset, manifest, from: first, chunksMax, isRepair, &transfer) else {
        return transfer
      }
      switch try await remote.finishAsset(manifest, of: asset.zone, asset.incarnation) {
      case .whole:
        memory.rememberAtRemote(asset)
        transfer.wasThere = remoteSaysWhole && transfer.chunks == 0
        return transfer
      case .gone: return AssetTransfer(.gone)
      case .partial(let chunks): first = chunks
      }
    }
    throw RemoteError(
      .damagedAsset, "chunks of \(asset) that were put at \(remote.name) are not there",
      hint: "check the remote: something removes what is in it")
  }

  /// Puts chunks of an asset from one on.
  ///
  /// - Parameter isRepair: whether chunks that are right at the remote are not counted.
  /// - Returns: whether all are put; if not, the transfer says why.
  private func put(
    _ asset: RemoteAsset, _ manifest: AssetManifest, from first: UInt64, _ chunksMax: Int?, _ isRepair: Bool,
    _ transfer: inout AssetTransfer
  ) async throws -> Bool {
    let chunkBytes = UInt64(AssetManifest.chunkBytes)
    reportProgress(asset, .upload, min(first * chunkBytes, asset.reference.byteCount))
    for index in min(first, UInt64(manifest.chunks.count))..<UInt64(manifest.chunks.count) {
      try Task.checkCancellation()
      if let chunksMax, transfer.chunks >= chunksMax {
        transfer.end = .unfinished
        return false
      }
      let count = AssetManifest.byteCount(ofChunk: index, of: asset.reference)
      // The file may have changed since it was hashed.
      let chunk = manifest.chunks[Int(index)]
      let bytes = try await store.assetThreads.run(.waits) { [store] call in
        try Self.ofFile {
          let bytes = try store.openAsset(asset.reference).read(at: index * chunkBytes, count: count)
          return try Self.hash(bytes, call) == chunk ? bytes : nil
        }
      }
      guard let bytes else {
        transfer.end = .problem(try await recordUnsent(asset))
        return false
      }
      let wasThere = isRepair ? try await isThere(bytes, at: index, of: asset) : false
      // A chunk that is there may not be durable yet.
      try await remote.putAssetChunk(bytes, at: index, of: asset)
      if !wasThere {
        transfer.chunks += 1
        transfer.bytes += UInt64(count)
      }
      reportProgress(asset, .upload, index * chunkBytes + UInt64(count))
    }
    return true
  }

  /// Whether the remote has a chunk, with the right bytes.
  private func isThere(_ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset) async throws -> Bool {
    do throws(RemoteError) {
      return try await remote.assetChunk(at: index, of: asset) == bytes
    } catch {
      if error.code != .damagedAsset { throw error }
      return false
    }
  }

  /// Returns what a closure reads of an asset's file; nil if the file is missing or damaged.
  private static func ofFile<Result>(_ body: () throws -> Result?) throws -> Result? {
    do {
      return try body()
    } catch let error as StoreError {
      if error.code == .assetMissing || error.code == .assetDamaged { return nil }
      throw error
    }
  }

  /// Hashes bytes, until the call is cancelled.
  private static func hash(_ bytes: [UInt8], _ call: BlockingCall) throws -> ContentHash {
    var hasher = ContentHasher()
    for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
      try call.checkCancellation()
      hasher.update(bytes.span.bytes.extracting(start..<min(start + pieceBytes, bytes.count)))
    }
    return hasher.finish()
  }

  /// Hashes an asset's file chunk by chunk; nil if it is missing or damaged.
  private func manifest(of asset: AssetReference) async throws -> AssetManifest? {
    if let known = memory.manifest(of: asset) { return known }
    guard asset.byteCount <= AssetManifest.assetBytesMax else { return nil }
    let made = try await store.assetThreads.run(.waits) { [store] call in
      try Self.ofFile { try Self.manifest(of: asset, in: store, call) }
    }
    guard let made, try store.hasAsset(asset) else { return nil }
    memory.remember(made)
    return made
  }

  /// Hashes an asset's file chunk by chunk; nil if it has other bytes.
  private static func manifest(
    of asset: AssetReference, in store: LocalStore, _ call: BlockingCall
  ) throws -> AssetManifest? {
    let file = try store.openAsset(asset)
    var chunks: [ContentHash] = []
    var whole = ContentHasher()
    for index in 0..<AssetManifest.chunkCount(of: asset) {
      let start = index * UInt64(AssetManifest.chunkBytes)
      let count = AssetManifest.byteCount(ofChunk: index, of: asset)
      var chunk = ContentHasher()
      for offset in stride(from: 0, to: count, by: pieceBytes) {
        try call.checkCancellation()
        let piece = try file.read(at: start + UInt64(offset), count: min(pieceBytes, count - offset))
        chunk.update(piece.span.bytes)
        whole.update(piece.span.bytes)
      }
      chunks.append(chunk.finish())
    }
    guard whole.finish() == asset.hash else { return nil }
    return AssetManifest(asset: asset, chunks: chunks)
  }

  /// Records that the asset cannot be sent, before anything is shipped without it.
  ///
  /// - Returns: what is wrong with its file here.
  private func recordUnsent(_ asset: RemoteAsset) async throws -> AssetProblem.Kind {
    memory.forget(asset.reference)
    let found = try await store.assetTransfers.noteUnsent(asset.reference, in: asset.zone, asset.incarnation)
    return found == .missing ? .missingHere : .damagedHere
  }

  // MARK: Down

  /// Downloads an asset. A problem of only this asset is returned, not thrown.
  ///
  /// - Parameters:
  ///   - asset: which.
  ///   - chunksMax: the most chunks to read; nil for any number.
  ///   - isRepair: whether a file that is here is compared with its hash first, and replaced if it is
  ///     damaged.
  func download(_ asset: RemoteAsset, chunksMax: Int? = nil, isRepair: Bool = false) async throws
    -> AssetTransfer
  {
    do {
      return try await fetch(asset, chunksMax, isRepair)
    } catch let error as CancellationError {
      throw error
    } catch {
      let failure = SyncFailure(error)
      if let error = error as? RemoteError {
        if error.code == .damagedAsset { return AssetTransfer(.problem(.damagedAtRemote)) }
        // A failure of the whole remote, such as no answer, is no problem of this asset.
        if failure.scope == .round { throw error }
      }
      // A disk that has no room for the asset may have room for the log.
      return AssetTransfer(.problem(.failed(failure)))
    }
  }

  private func fetch(_ asset: RemoteAsset, _ chunksMax: Int?, _ isRepair: Bool) async throws -> AssetTransfer
  {
    var transfer = AssetTransfer(.whole)
    if try await isHere(asset.reference, hashing: isRepair) {
      try await store.assetTransfers.noteArrival(of: asset.reference)
      transfer.wasThere = true
      return transfer
    }
    // No remote has a larger one.
    guard asset.reference.byteCount <= AssetManifest.assetBytesMax else {
      return AssetTransfer(.problem(.missingAtRemote))
    }
    guard case .whole(let manifest) = try await remote.assetState(asset) else {
      return AssetTransfer(.problem(.missingAtRemote))
    }
    guard manifest.asset == asset.reference else { return AssetTransfer(.problem(.damagedAtRemote)) }
    guard let partial = try store.assetTransfers.partial(asset.reference) else {
      return AssetTransfer(.elsewhere)
    }
    if partial.byteCount > asset.reference.byteCount { try partial.truncate(to: 0) }
    for _ in 0..<Self.triesMax {
      guard try await fetch(asset, manifest, into: partial, chunksMax, &transfer) else { return transfer }
      if try await publishIfWhole(partial) {
        try await store.assetTransfers.noteArrival(of: asset.reference)
        return transfer
      }
      // The file of an earlier try is damaged: a power cut may do that.
      try partial.truncate(to: try await soundBytes(partial, manifest))
      if partial.byteCount == asset.reference.byteCount {
        // Every chunk fits the manifest, so the manifest is another asset's.
        try partial.truncate(to: 0)
        break
      }
    }
    transfer.end = .problem(.damagedAtRemote)
    return transfer
  }

  /// Whether an asset's file is here, by its size or by its hash.
  private func isHere(_ asset: AssetReference, hashing: Bool) async throws -> Bool {
    guard hashing else { return try store.hasAsset(asset) }
    return try await store.assetThreads.run(.waits) { [store] call in
      try store.checkAsset(asset) { _ in try call.checkCancellation() } == .whole
    }
  }

  /// Publishes a downloaded file under its asset's name, if its hash is the asset's.
  private func publishIfWhole(_ partial: PartialAsset) async throws -> Bool {
    // Safe, here and below: this task waits until the thread is done.
    nonisolated(unsafe) let partial = partial
    return try await store.assetThreads.run(.waits) { call in
      guard try partial.isWhole(progress: { _ in try call.checkCancellation() }) else { return false }
      try partial.publish()
      return true
    }
  }

  /// Reads chunks to the end of an asset.
  ///
  /// - Returns: whether all are read; if not, the transfer says why.
  private func fetch(
    _ asset: RemoteAsset, _ manifest: AssetManifest, into partial: PartialAsset, _ chunksMax: Int?,
    _ transfer: inout AssetTransfer
  ) async throws -> Bool {
    nonisolated(unsafe) let partial = partial
    let chunkBytes = UInt64(AssetManifest.chunkBytes)
    if partial.byteCount < asset.reference.byteCount {
      try partial.truncate(to: partial.byteCount / chunkBytes * chunkBytes)
    }
    reportProgress(asset, .download, partial.byteCount)
    while partial.byteCount < asset.reference.byteCount {
      try Task.checkCancellation()
      if let chunksMax, transfer.chunks >= chunksMax {
        transfer.end = .unfinished
        return false
      }
      let index = partial.byteCount / chunkBytes
      let chunk = manifest.chunks[Int(index)]
      guard let bytes = try await remote.assetChunk(at: index, of: asset),
        bytes.count == AssetManifest.byteCount(ofChunk: index, of: asset.reference),
        try await store.assetThreads.run(
          .waits,
          { call in
            guard try Self.hash(bytes, call) == chunk else { return false }
            try partial.append(bytes)
            return true
          })
      else {
        transfer.end = .problem(.damagedAtRemote)
        return false
      }
      transfer.chunks += 1
      transfer.bytes += UInt64(bytes.count)
      reportProgress(asset, .download, partial.byteCount)
    }
    return true
  }

  /// How many bytes from the start fit a manifest.
  private func soundBytes(_ partial: PartialAsset, _ manifest: AssetManifest) async throws -> UInt64 {
    nonisolated(unsafe) let partial = partial
    return try await store.assetThreads.run(.waits) { call in
      let chunkBytes = UInt64(AssetManifest.chunkBytes)
      for (index, chunk) in manifest.chunks.enumerated() {
        let count = AssetManifest.byteCount(ofChunk: UInt64(index), of: manifest.asset)
        let bytes = try partial.read(at: UInt64(index) * chunkBytes, count: count)
        if try Self.hash(bytes, call) != chunk { return UInt64(index) * chunkBytes }
      }
      return manifest.asset.byteCount
    }
  }

  private func reportProgress(
    _ asset: RemoteAsset, _ direction: AssetProgress.Direction, _ bytesDone: UInt64
  ) {
    progress?(
      AssetProgress(
        zone: asset.zone, reference: asset.reference, direction: direction, bytesDone: bytesDone))
  }
}

/// Caches what uploads need again: one in parts, or a segment of many assets that takes many rounds, does
/// nothing twice.
private final class AssetMemory: Sendable {
  private struct State {
    /// Manifests of files here that were hashed.
    var manifests: [AssetManifest] = []
    /// Assets that are whole at the remote. They stay whole in that incarnation of their zone.
    var atRemote: Set<RemoteAsset> = []
  }

  /// At least as many as zones are synced at once.
  private static let manifestsMax = 8
  /// As many as one segment is likely to name. Each that is forgotten costs one call.
  private static let atRemoteMax = 16_384
  private let state = Mutex(State())

  func manifest(of asset: AssetReference) -> AssetManifest? {
    state.withLock { $0.manifests.first { $0.asset == asset } }
  }

  func remember(_ manifest: AssetManifest) {
    state.withLock { state in
      if state.manifests.count >= Self.manifestsMax { state.manifests.removeFirst() }
      state.manifests.append(manifest)
    }
  }

  func forget(_ asset: AssetReference) {
    state.withLock { $0.manifests.removeAll { $0.asset == asset } }
  }

  func isAtRemote(_ asset: RemoteAsset) -> Bool { state.withLock { $0.atRemote.contains(asset) } }

  func rememberAtRemote(_ asset: RemoteAsset) {
    state.withLock { state in
      if state.atRemote.count >= Self.atRemoteMax { state.atRemote.removeAll() }
      state.atRemote.insert(asset)
    }
  }
}
