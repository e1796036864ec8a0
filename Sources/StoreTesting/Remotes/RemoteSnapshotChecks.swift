internal import EventStore
internal import OperationFormat
internal import Replicator

/// Snapshots, which are put in parts. A remote that keeps none passes them all.
enum RemoteSnapshotChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("A log has no snapshots at first, and an unfinished one is none") { trial in
      let incarnation = try await trial.create()
      guard let none = try await trial.snapshots(incarnation) else { return }
      try trial.expect(none, [], "the snapshots of a new log")
      let made = TrialSnapshot(of: incarnation, at: 3, by: 1)
      for index in made.parts.indices {
        try await trial.put(index, of: made)
        try trial.expect(try await trial.snapshots(incarnation), [], "the snapshots before the end")
      }
      try await trial.finish(made)
      for door in 0..<2 {
        try trial.expect(try await trial.snapshots(incarnation, door: door), [made.name], "the snapshots")
        try await trial.expectWhole(made, door: door)
      }
    },
    Check("The newest snapshot comes first, and two makers at one offset do not hurt each other") { trial in
      let incarnation = try await trial.create()
      guard try await trial.snapshots(incarnation) != nil else { return }
      let all = [
        TrialSnapshot(of: incarnation, at: 7, by: 1), TrialSnapshot(of: incarnation, at: 9, by: 2),
        TrialSnapshot(of: incarnation, at: 9, by: 1),
      ]
      for (index, made) in all.enumerated() {
        for part in made.parts.indices { try await trial.put(part, of: made, door: index % 2) }
      }
      for made in all { try await trial.finish(made) }
      let found = try await trial.snapshots(incarnation, door: 1) ?? []
      try trial.expect(Set(found), Set(all.map(\.name)), "the snapshots")
      try trial.expect(found.map(\.offset), [9, 9, 7], "their offsets")
      for made in all { try await trial.expectWhole(made, door: 1) }
    },
    Check("A snapshot that is put again is whole, also if an earlier try put other bytes") { trial in
      let incarnation = try await trial.create()
      guard try await trial.snapshots(incarnation) != nil else { return }
      let made = TrialSnapshot(of: incarnation, at: 2, by: 1)
      try await trial.retrying {
        try await trial.doors[1].putSnapshotPart([1, 2, 3], at: 0, of: made.name)
      }
      for _ in 0..<2 {
        for index in made.parts.indices { try await trial.put(index, of: made) }
        try await trial.finish(made)
      }
      try trial.expect(try await trial.snapshots(incarnation, door: 1), [made.name], "the snapshots")
      try await trial.expectWhole(made, door: 1)
    },
    Check("The newest of many snapshots stays") { trial in
      let incarnation = try await trial.create()
      guard try await trial.snapshots(incarnation) != nil else { return }
      for offset in 1...12 as ClosedRange<UInt64> {
        let made = TrialSnapshot(of: incarnation, at: offset, by: 1 + offset % 2)
        for index in made.parts.indices { try await trial.put(index, of: made) }
        try await trial.finish(made)
        let found = try await trial.snapshots(incarnation, door: 1) ?? []
        try trial.expect(found.first, made.name, "the newest")
        try await trial.expectWhole(made, door: 1)
        if let before = found.dropFirst().first {
          let earlier = TrialSnapshot(of: incarnation, at: before.offset, by: UInt64(before.maker.rawValue))
          try await trial.expectWhole(earlier, door: 1)
        }
      }
    },
    Check("Snapshots go with their zone") { trial in
      let incarnation = try await trial.create()
      guard try await trial.snapshots(incarnation) != nil else { return }
      let made = TrialSnapshot(of: incarnation, at: 1, by: 1)
      for index in made.parts.indices { try await trial.put(index, of: made) }
      try await trial.finish(made)
      try await trial.delete(incarnation)
      try trial.expect(try await trial.snapshots(incarnation, door: 1) ?? [], [], "the snapshots")
      try await trial.expect(.zoneUnknown, "a part for a deleted zone") {
        try await trial.doors[1].putSnapshotPart([1], at: 0, of: made.name)
      }
    },
  ]
}

/// A snapshot of any bytes: a remote does not read them.
struct TrialSnapshot {
  let name: RemoteSnapshot
  let manifest: SnapshotManifest
  let parts: [[UInt8]]

  /// - Parameter token: the place of the log that it is of; nil for none that is there.
  init(of incarnation: IncarnationID, at offset: UInt64, by maker: UInt64, _ token: ChangeToken? = nil) {
    name = RemoteSnapshot(
      of: RemoteTrial.zone, incarnation, at: offset, by: ReplicaID(rawValue: UInt128(maker)))
    var described: [SnapshotManifest.Part] = []
    var parts: [[UInt8]] = []
    for count in [300, 5] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* Int(maker) &+ Int(offset)) }
      guard let (part, stored) = SnapshotManifest.Part.pack(bytes.span.bytes) else { continue }
      described.append(part)
      parts.append(stored)
    }
    self.parts = parts
    let first = parts[0]
    let hash = ContentHash(of: first.span.bytes)
    manifest = SnapshotManifest(
      zone: RemoteTrial.zone, incarnation: incarnation, offset: offset, hash: token?.hash ?? hash,
      chain: token?.chain ?? LogChain(hash: hash), content: hash, digest: hash, records: 2, parts: described)
  }
}

extension RemoteTrial {
  func snapshots(_ incarnation: IncarnationID, door: Int = 0) async throws -> [RemoteSnapshot]? {
    try await retrying { try await doors[door].snapshots(of: Self.zone, incarnation) }
  }

  func put(_ index: Int, of made: TrialSnapshot, door: Int = 0) async throws {
    try await retrying { try await doors[door].putSnapshotPart(made.parts[index], at: index, of: made.name) }
  }

  func finish(_ made: TrialSnapshot, door: Int = 0) async throws {
    try await retrying { try await doors[door].finishSnapshot(made.manifest, of: made.name) }
  }

  func expectWhole(_ made: TrialSnapshot, door: Int) async throws {
    let manifest = try await retrying { try await doors[door].snapshotManifest(of: made.name) }
    try expect(manifest, made.manifest, "the manifest")
    for index in made.parts.indices {
      let part = try await retrying { try await doors[door].snapshotPart(at: index, of: made.name) }
      try expect(part, made.parts[index], "part \(index)")
    }
    let behind = try await retrying {
      try await doors[door].snapshotPart(at: made.parts.count, of: made.name)
    }
    try expect(behind == nil, "a part behind the last one is there")
  }
}
