import EventStore
import OperationFormat
import Replicator
import S3Remote
import StoreTesting
import Testing

extension Trait where Self == ConditionTrait {
  /// Leaves a test out if a store is not installed.
  static func needs(_ kind: ObjectServer.Kind) -> Self {
    .enabled(if: kind.isInstalled, "\(kind.rawValue) is not installed; `make bucket-test` installs it")
  }
}

/// Object stores that others have made.
@Suite("Remotes at object stores", .serialized)
struct RemotesAtObjectStores {
  @Test("keep the contract at SeaweedFS", .needs(.seaweedFS))
  func seaweedFS() async throws { try await checkContract(.seaweedFS) }

  @Test("keep the contract at moto", .needs(.moto))
  func moto() async throws { try await checkContract(.moto) }

  private func checkContract(_ kind: ObjectServer.Kind) async throws {
    let server = try await ObjectServer(kind)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, check) in RemoteLogConformance.checks.enumerated() {
        if number >= 4 { try await group.next() }
        group.addTask {
          let prefix = "ü+%/contract of \(number)"
          try await RemoteLogConformance { doors in
            _ = try await server.remote(prefix).made()
            return try (0..<doors).map { _ in try server.remote(prefix) }
          }.run(check)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("are refused at rclone, which replaces what was to be put only if there was none", .needs(.rclone))
  func rclone() async throws {
    let server = try await ObjectServer(.rclone)
    await expect(.unsuitable) { _ = try await server.remote("team").made() }
  }

  @Test("tell a wrong secret from a wrong place", .needs(.seaweedFS))
  func errors() async throws {
    let server = try await ObjectServer(.seaweedFS)
    await expect(.unauthenticated) { _ = try await server.remote("team", secret: "other").identity() }
    await expect(.notARemote) { _ = try await server.remote("team").identity() }
    await expect(.notARemote) { _ = try await server.remote("team", bucket: "others").identity() }
    server.stop()
    await expect(.unreachable) { _ = try await server.remote("team").identity() }
  }

  @Test("many writers at one log: each segment is there once, in its writer's order", .needs(.seaweedFS))
  func writers() async throws {
    let server = try await ObjectServer(.seaweedFS)
    let made = try await server.remote("team").made()
    let zone: ZoneID = "lists"
    let incarnation = try await made.createZone(zone, proposing: IncarnationID(rawValue: 5))
    let written = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
      for number in 1...8 {
        group.addTask {
          let remote = try server.remote("team")
          var maker = SegmentMaker(
            zone, incarnation, replica: ReplicaID(rawValue: UInt128(number)), seed: UInt64(number))
          var written: [[UInt8]] = []
          for _ in 0..<20 {
            let segment = try maker.next()
            var isThere = false
            while !isThere {
              do {
                _ = try await remote.append(segment, after: .start(of: zone, incarnation))
                isThere = true
              } catch let error as RemoteError where [.later, .unreachable].contains(error.code) {
                try await Task.sleep(for: .milliseconds(20))
              }
            }
            written.append(segment.bytes)
          }
          return written
        }
      }
      return try await group.reduce(into: [[[UInt8]]]()) { $0.append($1) }
    }
    var token = ChangeToken.start(of: zone, incarnation)
    var found: [[UInt8]] = []
    while case .segments(let page, _) = try await made.segments(after: token, bytesMax: 1 << 20),
      !page.isEmpty
    {
      for stored in page {
        found.append(stored.bytes)
        token = ChangeToken(
          zone: zone, incarnation: incarnation, offset: stored.offset,
          hash: try SegmentPacker.unpack(stored.bytes).header.contentHash, chain: stored.chain)
      }
    }
    #expect(found.count == 160)
    for segments in written { #expect(found.filter(segments.contains) == segments) }
  }
}

func expect(
  _ code: RemoteError.Code, _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation,
  _ call: () async throws -> Void
) async {
  await #expect(comment, sourceLocation: location) {
    try await call()
  } throws: {
    ($0 as? RemoteError)?.code == code
  }
}
