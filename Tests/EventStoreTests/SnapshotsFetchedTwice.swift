import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("A snapshot that several calls fetch or write at one time")
struct SnapshotsFetchedTwice {
  private let directory = TemporaryDirectory()

  /// A store that has made a snapshot, and the files of one that is to have it.
  private func stores() async throws -> (source: LocalStore, SnapshotManifest, target: LocalStore) {
    let source = try directory.store("source")
    try await source.makeAttachedZone()
    var remote = TestRemote()
    for number in 1...5 as ClosedRange<UInt64> {
      _ = try remote.append([transaction(7, number, [set("r", "f", .int(Int64(number)))])])
    }
    _ = try await source.ingest(remote.segments)
    try await source.finishRenewal()
    return (source, try source.makeSnapshot(of: noteZone), try directory.store("target"))
  }

  private func names(in files: SnapshotFiles) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: files.root)
  }

  /// Leaves a snapshot with another part than it has.
  private func putDamaged(_ manifest: SnapshotManifest, _ files: SnapshotFiles) throws {
    let path = "\(files.root)/\(manifest.content)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(manifest.encode()).write(to: URL(fileURLWithPath: "\(path)/manifest"))
    try Data(count: manifest.parts[0].storedBytes).write(to: URL(fileURLWithPath: "\(path)/0"))
  }

  @Test(
    "One that comes while another fetches fetches all itself, and both have it", arguments: [false, true])
  func oneInAnother(isDamagedThere: Bool) async throws {
    let (source, manifest, target) = try await stores()
    let files = target.core.snapshots
    if isDamagedThere { try putDamaged(manifest, files) }
    try await files.keep(manifest) { index in
      try await files.keep(manifest) { try source.snapshotPart($0, of: manifest) }
      #expect(try files.isReused(manifest))
      return try source.snapshotPart(index, of: manifest)
    }
    #expect(try files.isReused(manifest))
    #expect(try names(in: files) == ["\(manifest.content)"])
    for store in [source, target] { store.close() }
  }

  @Test("Many at one time end with one", arguments: [false, true])
  func many(isDamagedThere: Bool) async throws {
    let (source, manifest, target) = try await stores()
    let files = target.core.snapshots
    if isDamagedThere { try putDamaged(manifest, files) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await files.keep(manifest) { index in
            await Task.yield()
            return try source.snapshotPart(index, of: manifest)
          }
          // From now on it is there.
          for index in manifest.parts.indices { _ = try files.part(index, of: manifest) }
        }
      }
      try await group.waitForAll()
    }
    #expect(try names(in: files) == ["\(manifest.content)"])
    for store in [source, target] { store.close() }
  }

  @Test("One that fails while another fetches leaves nothing, and does not stop the other")
  func failing() async throws {
    struct Failure: Error {}
    let (source, manifest, target) = try await stores()
    let files = target.core.snapshots
    try await files.keep(manifest) { index in
      await #expect(throws: Failure.self) { try await files.keep(manifest) { _ in throw Failure() } }
      return try source.snapshotPart(index, of: manifest)
    }
    #expect(try names(in: files) == ["\(manifest.content)"])
    for store in [source, target] { store.close() }
  }
}
