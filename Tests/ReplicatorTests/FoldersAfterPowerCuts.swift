import EventStore
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A power cut of a folder")
struct FoldersAfterPowerCuts {
  private static let zones = [ZoneID(name: "notes"), ZoneID(name: "gone")]
  private static let incarnations = [IncarnationID(rawValue: 5), IncarnationID(rawValue: 6)]
  private static let identity = RemoteID(rawValue: 7)
  private static let assetBytes = [UInt8](repeating: 3, count: 5000)

  /// What a writer does, in order: a step that was done can be done again.
  private struct Work {
    let segments: [PackedSegment]
    let deleted: PackedSegment
    let manifest: AssetManifest

    init() throws {
      var maker = SegmentMaker(zones[0], incarnations[0], replica: ReplicaID(rawValue: 1))
      segments = try (0..<3).map { _ in try maker.next(valueBytes: 2000) }
      var other = SegmentMaker(zones[1], incarnations[1], replica: ReplicaID(rawValue: 1))
      deleted = try other.next()
      let hash = ContentHash(of: assetBytes.span.bytes)
      manifest = AssetManifest(
        asset: AssetReference(hash: hash, byteCount: UInt64(assetBytes.count)), chunks: [hash])!
    }

    /// The steps, by name.
    func steps(_ remote: FolderRemote) -> [(name: String, run: () async throws -> Void)] {
      func append(_ segment: PackedSegment, _ offset: UInt64) async throws {
        switch try await remote.append(segment, after: offset - 1).withOffsetOnly {
        case .appended(SegmentPlace(offset: offset)), .alreadyThere(SegmentPlace(offset: offset)): return
        case let other: Issue.record("entry \(offset): \(other)")
        }
      }
      return [
        ("made", { try await remote.objects.create(identity) }),
        ("zone", { _ = try await remote.createZone(zones[0], proposing: incarnations[0]) }),
        ("entry 1", { try await append(segments[0], 1) }),
        ("entry 2", { try await append(segments[1], 2) }),
        ("announced", { await remote.announce() }),
        (
          "asset",
          {
            let asset = RemoteAsset(manifest.asset, of: zones[0], incarnations[0])
            try await remote.putAssetChunk(assetBytes, at: 0, of: asset)
            _ = try await remote.finishAsset(manifest, of: zones[0], incarnations[0])
          }
        ),
        (
          "deleted",
          {
            let events = try await remote.zoneEvents(after: nil).events
            guard events.contains(where: { $0.incarnation == incarnations[1] && $0.kind == .deleted }) else {
              _ = try await remote.createZone(zones[1], proposing: incarnations[1])
              _ = try await remote.append(deleted, after: 0)
              return try await remote.deleteZone(zones[1], incarnations[1])
            }
          }
        ),
        ("entry 3", { try await append(segments[2], 3) }),
      ]
    }
  }

  /// A folder over a model of what is on its disk. From one call on, nothing works any more.
  private final class Machine: Sendable {
    let path: String
    let disk: SyncedFolder
    private let state: Mutex<(left: Int, calls: [String])>
    private let hasLinks: Bool

    init(in parent: String, callsLeft: Int = .max, hasLinks: Bool = true) {
      mkdir(parent, 0o700)
      path = "\(parent)/remote"
      disk = SyncedFolder(parent)
      state = Mutex((callsLeft, []))
      self.hasLinks = hasLinks
    }

    var hasEnded: Bool { state.withLock { $0.left < 0 } }
    /// The calls that the process has made that ends.
    var calls: [String] { state.withLock { $0.calls } }

    /// - Parameters:
    ///   - ends: whether it is the process that ends.
    ///   - syncs: whether the model learns what is synced.
    func remote(ends: Bool, syncs: Bool = true, _ seed: UInt64) -> FolderRemote {
      var calls = FolderCalls { [self] call in
        let isOver = state.withLock { state in
          guard ends else { return false }
          state.left -= 1
          state.calls.append("\(call)")
          return state.left < 0
        }
        if isOver { return .before(EIO) }
        return !hasLinks && "\(call)" == "linkat" ? .before(EPERM) : nil
      }
      calls.didSync = { [disk] in if syncs { disk.didSync($0) } }
      return FolderRemote(FolderObjects(directory: path, calls: calls, makeRandom: seededBits(seed)))
    }
  }

  @Test(
    "what was said to be published is there, whole, whichever call it comes before; the work can be done again",
    arguments: [true, false])
  func cuts(hasLinks: Bool) async throws {
    let work = try Work()
    let scratch = TemporaryDirectory()
    let whole = Machine(in: "\(scratch.path)/whole", hasLinks: hasLinks)
    for step in work.steps(whole.remote(ends: true, 1)) { try await step.run() }
    let calls = whole.calls
    // Most can be lost right before something is synced.
    let chosen = WideTests.choose(
      Array(calls.indices), otherwise: calls.indices.filter { calls[$0] == "fsync" })
    var (cuts, lost) = (0, 0)
    for call in chosen + [calls.count] {
      let parent = "\(scratch.path)/\(call)"
      let machine = Machine(in: parent, callsLeft: call, hasLinks: hasLinks)
      var done: [String] = []
      do {
        for step in work.steps(machine.remote(ends: true, 1)) {
          try await step.run()
          if !machine.hasEnded { done.append(step.name) }
        }
      } catch let error as RemoteError {
        #expect(error.code == .unreachable, "\(error)")
      }
      let live = try await objects(machine.path)
      for rest in WideTests.choose(
        SyncedFolder.Rest.allCases, otherwise: [SyncedFolder.Rest.allCases[call % 3]])
      {
        let image = "\(scratch.path)/\(call) \(rest)"
        machine.disk.cut(to: image, keeping: rest, seed: UInt64(call))
        if try await !live.isSubset(of: objects("\(image)/remote")) { lost += 1 }
        try await check(image, work, done, "before call \(call), \(rest)")
        cuts += 1
      }
      // Another process reads what the one that has ended may not have synced.
      let seen = try await tokens(machine.remote(ends: false, 2))
      let image = "\(scratch.path)/\(call) seen"
      machine.disk.cut(to: image, keeping: .none, seed: 0)
      let reader = machineAfter(image)
      for token in seen {
        guard case .segments = try await reader.segments(after: token, bytesMax: 1 << 20) else {
          Issue.record("the zone is gone")
          continue
        }
      }
      if try await !live.isSubset(of: objects("\(image)/remote")) { lost += 1 }
      try await check(image, work, done, "before call \(call), after a reader")
      cuts += 1
      #expect(machine.hasEnded == (call < calls.count))
    }
    print(
      "power cuts of a folder, \(hasLinks ? "with" : "without") links: \(cuts), "
        + "of which \(lost) lost what nobody had said to be there")
    #expect(chosen.count > 30 && lost > 10)
  }

  @Test("what is not synced is lost: all of it, or its bytes")
  func losesUnsynced() async throws {
    let scratch = TemporaryDirectory()
    let machine = Machine(in: "\(scratch.path)/whole")
    for step in try Work().steps(machine.remote(ends: true, syncs: false, 1)) { try await step.run() }
    #expect(try await objects(machine.path).count > 8)
    for (rest, isThere) in [(SyncedFolder.Rest.none, false), (.names, true)] {
      let image = "\(scratch.path)/\(rest)"
      machine.disk.cut(to: image, keeping: rest, seed: 0)
      let found = try await objects("\(image)/remote")
      #expect(found.isEmpty != isThere && found.allSatisfy { $0.bytes == 0 })
    }
  }

  private func machineAfter(_ image: String) -> FolderRemote { FolderRemote(directory: "\(image)/remote") }

  /// Up to where a reader has read the first zone, after each entry.
  private func tokens(_ remote: FolderRemote) async throws -> [ChangeToken] {
    var token = ChangeToken.start(of: Self.zones[0], Self.incarnations[0])
    var tokens: [ChangeToken] = []
    do throws(RemoteError) {
      guard case .segments(let page, _) = try await remote.segments(after: token, bytesMax: 1 << 20) else {
        return []
      }
      for segment in page {
        let bytes = segment.bytes
        guard let header = try? SegmentPacker.unpack(bytes).header else { continue }
        (token.offset, token.hash, token.chain) = (segment.offset, header.contentHash, segment.chain)
        tokens.append(token)
      }
    } catch {
      // There is no such zone yet, or no remote.
      #expect([.notARemote, .unreachable, .zoneUnknown].contains(error.code), "\(error)")
    }
    return tokens
  }

  /// The objects of a folder, without temporary files and the hint, which need not last.
  private func objects(_ path: String) async throws -> Set<ObjectEntry> {
    do throws(RemoteError) {
      let all = try await FolderRemote(directory: path).objects.list()
      return Set(all.filter { $0.name != nil && $0.name != .hint })
    } catch {
      #expect(error.code == .unreachable, "\(error)")
      return []
    }
  }

  /// Checks what is there after a power cut, and does the work again.
  private func check(_ image: String, _ work: Work, _ done: [String], _ place: String) async throws {
    let remote = machineAfter(image)
    let before = try await entries(remote, done.contains("made"), place)
    let said = done.filter { $0.hasPrefix("entry") }.count
    #expect(before.starts(with: work.segments[..<said].map(\.bytes)), "\(place)")
    if done.contains("asset") {
      let asset = RemoteAsset(work.manifest.asset, of: Self.zones[0], Self.incarnations[0])
      #expect(try await remote.assetState(asset) == .whole(work.manifest), "\(place)")
      #expect(try await remote.assetChunk(at: 0, of: asset) == Self.assetBytes, "\(place)")
    }
    if done.contains("deleted") {
      #expect(try await remote.zoneEvents(after: nil).events.map(\.kind).suffix(1) == [.deleted], "\(place)")
    }
    let again = machineAfter(image)
    for step in work.steps(again) { try await step.run() }
    #expect(try await again.identity() == Self.identity, "\(place)")
    #expect(try await entries(again, true, place) == work.segments.map(\.bytes), "\(place)")
    let kinds = try await again.zoneEvents(after: nil).events.map(\.kind)
    #expect(kinds == [.created, .created, .deleted], "\(place)")
  }

  /// The segments of the first zone; none if there is no such zone, or no remote.
  private func entries(_ remote: FolderRemote, _ isMade: Bool, _ place: String) async throws -> [[UInt8]] {
    do throws(RemoteError) {
      let start = ChangeToken.start(of: Self.zones[0], Self.incarnations[0])
      guard case .segments(let page, false) = try await remote.segments(after: start, bytesMax: 1 << 20)
      else {
        Issue.record("\(place): the zone is gone")
        return []
      }
      return page.map(\.bytes)
    } catch {
      #expect(
        error.code == .zoneUnknown || !isMade && [.notARemote, .unreachable].contains(error.code),
        "\(place): \(error)")
      return []
    }
  }
}
