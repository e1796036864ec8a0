import OperationFormat

/// Imports bytes into a store as an asset, before a write names it.
struct AssetImport {
  /// How long an imported asset is kept while nothing names it: a day.
  private static let heldMilliseconds: Int64 = 86_400_000

  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  /// Copies a file, piece by piece.
  func run(file path: String) async throws -> AssetReference {
    try await run { incoming in
      // Safe: this task waits until the thread is done with it.
      nonisolated(unsafe) let incoming = incoming
      try await core.fileThreads.run(.waits) { [assets = core.assets] call in
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

  /// Lets a body write a file, and makes it an asset.
  func run(_ write: (IncomingAsset) async throws -> Void) async throws -> AssetReference {
    guard !core.configuration.isReadOnly else { throw StoreError.readOnly(core.directory) }
    let incoming: IncomingAsset
    do {
      incoming = try core.assets.begin()
    } catch {
      throw StoreError.translate(error)
    }
    try await write(incoming)
    // Safe: this task waits until the thread is done with it.
    nonisolated(unsafe) let written = incoming
    let asset = try await core.fileThreads.run(.waits) { _ in try written.finish() }
    let until = UInt64(max(0, core.configuration.wallMilliseconds())) + UInt64(Self.heldMilliseconds)
    // This comes before the file has its name: if the process ends, the file is collected unless something
    // names it.
    try await core.perform { store in
      try store.storage.assets.hold(asset.hash, untilMilliseconds: until)
    }
    try await core.fileThreads.run(.waits) { _ in try written.publish() }
    // Transactions may have named it before its file was here.
    try await AssetTransfers(core).noteArrival(of: asset)
    return asset
  }
}
