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
  ///
  /// - Parameter decodes: whether more than the hash of its content is checked.
  func read(_ snapshot: RemoteSnapshot, decodes: Bool = true) async throws(RemoteError) -> Found {
    let name = ObjectName.snapshotManifest(of: snapshot)
    guard let manifest = try await remote.snapshotManifest(of: snapshot),
      manifest.zone.name == snapshot.zone.name
    else { return .broken(name) }
    if !decodes { return try await readHash(of: snapshot, manifest) }
    do {
      try await SnapshotCheck.run(manifest) { try await content(of: $0, snapshot, manifest) }
      return .whole(manifest)
    } catch let error as RemoteError {
      throw error
    } catch let broken as BrokenPart {
      return .broken(.snapshotPart(broken.index, of: snapshot))
    } catch let error as FormatError where error.code == .newerFormat {
      // Only a newer version can tell more.
      return try await readHash(of: snapshot, manifest)
    } catch {
      return .broken(name)
    }
  }

  /// Whether the parts have the content that the manifest names.
  private func readHash(
    of snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> Found {
    var hasher = ContentHasher()
    for (index, part) in manifest.parts.enumerated() {
      guard let stored = try await remote.snapshotPart(at: index, of: snapshot),
        let content = try? part.unpack(stored.span.bytes)
      else { return .broken(.snapshotPart(index, of: snapshot)) }
      hasher.update(content.span.bytes)
    }
    return hasher.finish() == manifest.content
      ? .whole(manifest) : .broken(.snapshotManifest(of: snapshot))
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
