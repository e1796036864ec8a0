internal import EventStore
internal import OperationFormat

/// Reads snapshots of a remote's logs.
struct SnapshotReader: Sendable {
  private let remote: any RemoteLog

  init(_ remote: any RemoteLog) { self.remote = remote }

  /// A part that is missing or damaged.
  private struct BrokenPart: Error { var index: Int }

  /// What a snapshot says of its log; nil if it cannot be read.
  func head(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> (manifest: SnapshotManifest, head: SnapshotHead)? {
    guard let manifest = try await remote.snapshotManifest(of: snapshot) else { return nil }
    do {
      return (
        manifest,
        try await SnapshotHead.read(manifest) { try await content(of: $0, snapshot, manifest) }
      )
    } catch let error as RemoteError {
      throw error
    } catch {
      return nil
    }
  }

  enum Found {
    case whole(SnapshotManifest)
    /// The first object of it that is missing or damaged, or the manifest, if it does not say what the parts have.
    case broken(ObjectName)
  }

  /// Reads a snapshot whole, and checks it as a store does that begins with it: see `SnapshotCheck`. At most one part is in
  /// memory, and those that say what its log has.
  func read(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> Found {
    let name = ObjectName.snapshotManifest(of: snapshot)
    guard let manifest = try await remote.snapshotManifest(of: snapshot),
      manifest.zone.name == snapshot.zone.name
    else { return .broken(name) }
    do {
      try await SnapshotCheck.run(manifest) { try await content(of: $0, snapshot, manifest) }
      return .whole(manifest)
    } catch let error as RemoteError {
      throw error
    } catch let broken as BrokenPart {
      return .broken(.snapshotPart(broken.index, of: snapshot))
    } catch let error as FormatError where error.code == .newerFormat {
      // Only a newer version can tell.
      return .whole(manifest)
    } catch {
      return .broken(name)
    }
  }

  private func content(
    of index: Int, _ snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws -> [UInt8] {
    guard let stored = try await remote.snapshotPart(at: index, of: snapshot),
      let content = try? manifest.parts[index].unpack(stored.span.bytes)
    else { throw BrokenPart(index: index) }
    return content
  }

  /// Reads a snapshot whole.
  ///
  /// - Returns: its manifest; nil if something of it is missing or damaged.
  func whole(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest? {
    if case .whole(let manifest) = try await read(snapshot) { manifest } else { nil }
  }
}
