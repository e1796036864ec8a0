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

  /// Reads a snapshot of a log whole. One that the log disproves is not read; of one that is behind the log's end, only the hash
  /// of its content is checked: how much is in memory depends on how many entries it names.
  func read(_ snapshot: RemoteSnapshot, in log: AuditedLog) async throws(RemoteError) -> Found {
    let known = try await remote.snapshotManifest(of: snapshot)
    if let known, log.disproves(known) { return .broken(.snapshotManifest(of: snapshot)) }
    return try await read(snapshot, decodes: snapshot.offset <= log.end)
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
    do {
      if decodes, try await isDecoded(snapshot, manifest) { return .whole(manifest) }
      var hasher = ContentHasher()
      for index in manifest.parts.indices {
        let content = try await content(of: index, snapshot, manifest)
        hasher.update(content.span.bytes)
      }
      return hasher.finish() == manifest.content ? .whole(manifest) : .broken(name)
    } catch let error as RemoteError {
      throw error
    } catch let broken as BrokenPart {
      return .broken(.snapshotPart(broken.index, of: snapshot))
    } catch {
      return .broken(name)
    }
  }

  /// Decodes a snapshot to its end.
  ///
  /// - Returns: false if only a newer version can.
  private func isDecoded(_ snapshot: RemoteSnapshot, _ manifest: SnapshotManifest) async throws -> Bool {
    do {
      try await SnapshotCheck.run(manifest) { try await content(of: $0, snapshot, manifest) }
      return true
    } catch let error as FormatError where error.code == .newerFormat {
      return false
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
