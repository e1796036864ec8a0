internal import OperationFormat
internal import Replicator

/// Assets, which are sent in chunks.
enum RemoteAssetChecks {
  private typealias Check = RemoteLogConformance.Check

  private static let chunkBytes = AssetManifest.chunkBytes

  static let all: [RemoteLogConformance.Check] = [
    Check("An asset that was never put is not there") { trial in
      let incarnation = try await trial.create()
      for count in [0, 1, chunkBytes + 1] {
        let asset = TrialAsset(count).at(incarnation)
        for door in 0..<2 {
          try trial.expect(try await trial.state(of: asset, door: door), .partial(chunks: 0), "the state")
          let chunk = try await trial.retrying { try await trial.doors[door].assetChunk(at: 0, of: asset) }
          try trial.expect(chunk == nil, "a chunk of it is there")
        }
      }
    },
    Check("An asset that was put and finished is whole, and comes back as it was") { trial in
      let incarnation = try await trial.create()
      for count in [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1] {
        let made = TrialAsset(count)
        try await trial.put(made, incarnation)
        let state = try await trial.finish(made, incarnation)
        try trial.expect(state, .whole(made.manifest), "the state after the end")
        for door in 0..<2 {
          let asset = made.at(incarnation)
          try trial.expect(try await trial.state(of: asset, door: door), .whole(made.manifest), "the state")
          for (index, chunk) in made.chunks.enumerated() {
            let found = try await trial.chunk(UInt64(index), of: made, incarnation, door: door)
            try trial.expect(found == chunk, "chunk \(index) of \(count) bytes came back")
          }
        }
      }
    },
    Check("An asset tells how many chunks there are, and is not whole before all are") { trial in
      let incarnation = try await trial.create()
      let made = TrialAsset(2 * chunkBytes + 5)
      let asset = made.at(incarnation)
      for count in 0..<3 as Range<UInt64> {
        try trial.expect(try await trial.state(of: asset, door: 1), .partial(chunks: count), "the state")
        let early = try await trial.finish(made, incarnation, door: 1)
        try trial.expect(early, .partial(chunks: count), "an end that comes too early")
        try await trial.put(made, incarnation, chunks: count..<count + 1)
      }
      try trial.expect(try await trial.state(of: asset, door: 1), .partial(chunks: 3), "the state")
      try trial.expect(try await trial.finish(made, incarnation), .whole(made.manifest), "the end")
      try trial.expect(try await trial.finish(made, incarnation, door: 1), .whole(made.manifest), "once more")
    },
    Check("An asset that four put at once is there, whole", doors: 4) { trial in
      let incarnation = try await trial.create()
      let made = TrialAsset(chunkBytes + 1)
      let states = try await trial.inParallel(4) { door in
        try await trial.put(made, incarnation, door: door)
        return try await trial.finish(made, incarnation, door: door)
      }
      try trial.expect(states.allSatisfy { $0 == .whole(made.manifest) }, "the ends: \(states)")
      for index in 0..<2 as Range<UInt64> {
        let found = try await trial.chunk(index, of: made, incarnation)
        try trial.expect(found == made.chunks[Int(index)], "chunk \(index) came back")
      }
    },
    Check("A chunk of another size, or that there cannot be, is refused") { trial in
      let incarnation = try await trial.create()
      let made = TrialAsset(5)
      let asset = made.at(incarnation)
      for (index, count) in [(0, 0), (0, 4), (0, 6), (1, 5), (1, 0), (.max, 5)] as [(UInt64, Int)] {
        try await trial.expect(.mismatch, "a chunk") {
          try await trial.doors[0].putAssetChunk([UInt8](repeating: 1, count: count), at: index, of: asset)
        }
      }
      try trial.expect(try await trial.state(of: asset), .partial(chunks: 0), "the state")
    },
    Check("A zone that the remote never had takes and gives no asset") { trial in
      let unknown = trial.incarnation(7)
      let made = TrialAsset(5)
      let asset = made.at(unknown)
      for isThere in [false, true] {
        try await trial.expect(.zoneUnknown, "a state") { try await trial.doors[0].assetState(asset) }
        try await trial.expect(.zoneUnknown, "a chunk") {
          try await trial.doors[0].putAssetChunk(made.chunks[0], at: 0, of: asset)
        }
        try await trial.expect(.zoneUnknown, "an end") {
          try await trial.doors[0].finishAsset(made.manifest, of: RemoteTrial.zone, unknown)
        }
        try await trial.expect(.zoneUnknown, "a chunk's reading") {
          try await trial.doors[0].assetChunk(at: 0, of: asset)
        }
        if !isThere { _ = try await trial.create() }
      }
    },
    Check("Each life of a zone has assets of its own, and a closed one says so") { trial in
      let first = try await trial.create()
      let made = TrialAsset(5)
      try await trial.put(made, first)
      _ = try await trial.finish(made, first)
      let other = try await trial.create(ZoneID(name: "lists"), 2)
      let elsewhere = RemoteAsset(made.reference, of: ZoneID(name: "lists"), other)
      try trial.expect(try await trial.state(of: elsewhere), .partial(chunks: 0), "in another zone")
      try await trial.delete(first)
      for door in 0..<2 {
        // A door that has not read the list since may not know yet.
        _ = try await trial.events(door: door)
        let state = try await trial.state(of: made.at(first), door: door)
        try trial.expect(state, .gone(.deleted), "the state in a closed log")
        let ended = try await trial.finish(made, first, door: door)
        try trial.expect(ended, .gone(.deleted), "an end in a closed log")
      }
      let second = try await trial.create(RemoteTrial.zone, 3)
      let again = try await trial.state(of: made.at(second), door: 1)
      try trial.expect(again, .partial(chunks: 0), "in the zone's next life")
    },
  ]
}

/// An asset that a check puts.
struct TrialAsset: Sendable {
  let chunks: [[UInt8]]
  let reference: AssetReference
  let manifest: AssetManifest

  /// - Parameter byteCount: how many bytes it has; those of each chunk differ from the others'.
  init(_ byteCount: Int) {
    var hasher = ContentHasher()
    var chunks: [[UInt8]] = []
    for start in stride(from: 0, to: byteCount, by: AssetManifest.chunkBytes) {
      let count = min(AssetManifest.chunkBytes, byteCount - start)
      let chunk = [UInt8](repeating: UInt8(truncatingIfNeeded: chunks.count + byteCount), count: count)
      hasher.update(chunk.span.bytes)
      chunks.append(chunk)
    }
    self.chunks = chunks
    reference = AssetReference(hash: hasher.finish(), byteCount: UInt64(byteCount))
    manifest = AssetManifest(asset: reference, chunks: chunks.map { ContentHash(of: $0.span.bytes) })!
  }

  func at(_ incarnation: IncarnationID) -> RemoteAsset {
    RemoteAsset(reference, of: RemoteTrial.zone, incarnation)
  }
}

extension RemoteTrial {
  func state(of asset: RemoteAsset, door: Int = 0) async throws -> RemoteAssetState {
    try await retrying { try await doors[door].assetState(asset) }
  }

  /// Puts chunks of an asset, all if it is not said which.
  func put(
    _ made: TrialAsset, _ incarnation: IncarnationID, chunks: Range<UInt64>? = nil, door: Int = 0
  ) async throws {
    for index in chunks ?? 0..<UInt64(made.chunks.count) {
      try await retrying {
        try await doors[door].putAssetChunk(made.chunks[Int(index)], at: index, of: made.at(incarnation))
      }
    }
  }

  func finish(
    _ made: TrialAsset, _ incarnation: IncarnationID, door: Int = 0
  ) async throws -> RemoteAssetState {
    try await retrying { try await doors[door].finishAsset(made.manifest, of: Self.zone, incarnation) }
  }

  /// Reads a chunk that arrives whole.
  func chunk(
    _ index: UInt64, of made: TrialAsset, _ incarnation: IncarnationID, door: Int = 0
  ) async throws -> [UInt8]? {
    var tries = 0
    while true {
      let found = try await retrying {
        try await doors[door].assetChunk(at: index, of: made.at(incarnation))
      }
      tries += 1
      if tries >= triesMax { return found }
      if let found, ContentHash(of: found.span.bytes) == made.manifest.chunks[Int(index)] { return found }
    }
  }
}
