import Synchronization
import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Bytes with different chunks, which no other seed gives.
func assetBytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
  var bytes = [UInt8](repeating: seed, count: count)
  for start in stride(from: 0, to: count, by: 1 << 16) {
    bytes[start] = UInt8(truncatingIfNeeded: start >> 16)
    if start + 1 < count { bytes[start + 1] = UInt8(truncatingIfNeeded: start >> 24) }
  }
  return bytes
}

extension Device {
  /// Imports bytes, and lets a record refer to them.
  func setAsset(_ bytes: [UInt8], of name: Name, in zone: ZoneID = zone) async throws -> AssetReference {
    let asset = try await store.importAsset(bytes: bytes)
    try await set("photo", of: name, to: .asset(asset), in: zone)
    return asset
  }

  /// Performs a round as a running replicator does.
  func perform(_ round: inout SyncRound, _ remote: any RemoteLog) async -> SyncReport {
    let runner = EffectRunner(
      store: store, remote: remote, selection: .all, pageBytesMax: 1 << 20, makeRandom: makeRandom)
    var effects = round.start()
    while !effects.isEmpty { effects += round.step(await runner.perform(effects.removeFirst())) }
    return round.report
  }

  func asset(of name: Name, in zone: ZoneID = zone) throws -> AssetReference? {
    let value = try store.read { try $0.value(of: "photo", in: RecordID(zone: zone, name: name)) }
    guard case .asset(let asset)? = value else { return nil }
    return asset
  }

  func content(_ asset: AssetReference) throws -> [UInt8] {
    var reader = try store.openAsset(asset)
    var bytes: [UInt8] = []
    while let piece = try reader.next(bytesMax: 1 << 20) { bytes += piece }
    return bytes
  }

  /// Replaces the file of an asset behind the store's back; nil removes it.
  func overwrite(_ asset: AssetReference, with bytes: [UInt8]?) throws {
    let path = try store.assetPath(asset)
    guard let bytes else {
      unlink(path)
      return
    }
    replaceFile(path, with: bytes)
  }
}

func replaceFile(_ path: String, with bytes: [UInt8]) {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  precondition(count == bytes.count, "\(path) cannot be written: error \(errno)")
}

/// A remote that counts the calls for assets and for appends, and lets all of them fail from one on, as if
/// the network or the process had ended there.
final class StepRemote: ForwardingRemote {
  private struct State {
    var calls = 0
    var last = Int.max
    var doesCall = false
    var puts: [UInt64] = []
    var gets: [UInt64] = []
  }

  let remote: any RemoteLog
  private let state = Mutex(State())

  init(_ remote: any RemoteLog) { self.remote = remote }

  /// The written chunks, in order.
  var puts: [UInt64] { state.withLock { $0.puts } }
  /// The chunks that were read, in order.
  var gets: [UInt64] { state.withLock { $0.gets } }
  var hasFailed: Bool { state.withLock { $0.calls > $0.last } }
  /// How many calls were made since the last setting of a failure.
  var calls: Int { state.withLock { $0.calls } }

  /// Lets all calls fail after this many more.
  ///
  /// - Parameter doesFirst: whether the first failing call is performed, and only its answer is lost.
  func fail(after count: Int, doesFirst: Bool = false) {
    state.withLock { state in
      state.calls = 0
      state.last = count
      state.doesCall = doesFirst
    }
  }

  private func perform<Answer: Sendable>(
    _ call: () async throws(RemoteError) -> Answer
  ) async throws(RemoteError) -> Answer {
    let (fails, does) = state.withLock { state in
      state.calls += 1
      return (state.calls > state.last, state.doesCall && state.calls == state.last + 1)
    }
    guard fails else { return try await call() }
    if does { _ = try await call() }
    throw RemoteError(.unreachable, "cut off by the test", hint: "none")
  }

  func assetState(_ asset: RemoteAsset) async throws(RemoteError) -> RemoteAssetState {
    try await perform { () throws(RemoteError) in try await remote.assetState(asset) }
  }

  func putAssetChunk(
    _ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset
  ) async throws(RemoteError) {
    try await perform { () throws(RemoteError) in
      try await remote.putAssetChunk(bytes, at: index, of: asset)
      state.withLock { $0.puts.append(index) }
    }
  }

  func finishAsset(
    _ manifest: AssetManifest, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> RemoteAssetState {
    try await perform { () throws(RemoteError) in
      try await remote.finishAsset(manifest, of: zone, incarnation)
    }
  }

  func assetChunk(at index: UInt64, of asset: RemoteAsset) async throws(RemoteError) -> [UInt8]? {
    try await perform { () throws(RemoteError) in
      state.withLock { $0.gets.append(index) }
      return try await remote.assetChunk(at: index, of: asset)
    }
  }

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    try await perform { () throws(RemoteError) in try await remote.append(segment, after: token) }
  }
}
