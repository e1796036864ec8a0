import Synchronization
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A large asset whose transfer is cancelled")
struct AssetsCancelled {
  enum Work: CaseIterable {
    /// The file here is hashed before its upload.
    case upload
    /// The file here is compared before it is replaced.
    case repair
    /// The downloaded file is compared before it gets its name.
    case download
    /// A file is copied into the store.
    case copy
  }

  /// Counts reads of asset files, and runs a closure at one of them.
  private final class Reads: Sendable {
    private let state = Mutex((count: 0, last: Int.max, action: (@Sendable () -> Void)?.none))
    var count: Int { state.withLock { $0.count } }

    func at(_ number: Int, _ action: @escaping @Sendable () -> Void) {
      state.withLock { $0 = (0, number, action) }
    }

    func add(_ call: StaticString) {
      guard call.description == "pread" else { return }
      let action = state.withLock { state in
        state.count += 1
        return state.count == state.last ? state.action : nil
      }
      action?()
    }
  }

  private static let byteCount = UInt64(1) << 34

  /// Creates a large file that takes no disk space.
  private func makeSparse(_ path: String) {
    let file = open(path, O_RDWR | O_CREAT, 0o600)
    #expect(file >= 0 && ftruncate(file, off_t(Self.byteCount)) == 0)
    close(file)
  }

  @Test("stops within a piece of 256 KiB", arguments: Work.allCases)
  func stops(_ work: Work) async throws {
    let scratch = TemporaryDirectory()
    let reads = Reads()
    let device = try Device(
      in: scratch.path, "a", seed: 1,
      configure: {
        $0.assetFault = { call in
          reads.add(call)
          return nil
        }
      })
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    // One asset, so that its folders exist and the zone is at the remote.
    _ = try await device.setAsset([1, 2, 3], of: "small")
    let isInSync = try await device.sync(remote).isInSync
    #expect(isInSync)
    let hash = ContentHash("ab" + String(repeating: "0", count: 62))!
    let asset = AssetReference(hash: hash, byteCount: Self.byteCount)
    let assets = device.directory + "/assets"
    switch work {
    case .upload, .repair:
      mkdir("\(assets)/ab", 0o700)
      makeSparse("\(assets)/ab/\(hash)")
    case .download:
      mkdir("\(assets)/partial", 0o700)
      makeSparse("\(assets)/partial/\(hash)")
    case .copy: makeSparse(scratch.path + "/file")
    }
    let replicator = LogReplicator(
      store: device.store, remote: work == .download ? WholeAssets(remote: remote) : remote)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      for await _ in gate {}
      switch work {
      case .upload: try await replicator.uploadAsset(asset, in: zone)
      case .repair, .download: try await replicator.downloadAsset(asset, in: zone)
      case .copy: _ = try await device.store.importAsset(file: scratch.path + "/file")
      }
    }
    reads.at(10) { task.cancel() }
    open.finish()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect((10...11).contains(reads.count))
    device.store.close()
  }
}

/// A remote that claims to have each asset completely, with chunks of zeros.
private struct WholeAssets: ForwardingRemote {
  let remote: any RemoteLog

  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    let count = Int(AssetManifest.chunkCount(of: asset.reference))
    return .whole(AssetManifest(asset: asset.reference, chunks: Array(repeating: .zero, count: count))!)
  }
}
