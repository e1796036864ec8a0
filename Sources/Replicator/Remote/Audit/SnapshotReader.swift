internal import EventStore
internal import OperationFormat

/// Reads snapshots of a remote's logs.
struct SnapshotReader: Sendable {
  private let remote: any RemoteLog

  init(_ remote: any RemoteLog) { self.remote = remote }

  /// A part that is to be fetched first.
  private struct PartNeeded: Error {}

  /// What a snapshot says of its log; nil if it cannot be read.
  func head(
    of snapshot: RemoteSnapshot
  ) async throws(RemoteError) -> (manifest: SnapshotManifest, head: SnapshotHead)? {
    guard let manifest = try await remote.snapshotManifest(of: snapshot) else { return nil }
    var parts: [[UInt8]] = []
    while true {
      do {
        let head = try SnapshotHead(manifest) { [parts] index in
          guard parts.indices.contains(index) else { throw PartNeeded() }
          return parts[index]
        }
        return (manifest, head)
      } catch is PartNeeded {
        // Twice as many each time: it is decoded from its start again.
        let end = min(max(1, 2 * parts.count), manifest.parts.count)
        for index in parts.count..<end {
          guard let part = try await remote.snapshotPart(at: index, of: snapshot) else { return nil }
          parts.append(part)
        }
      } catch {
        return nil
      }
    }
  }

  enum Found {
    case whole(SnapshotManifest)
    /// The first object of it that is missing or damaged.
    case broken(ObjectName)
  }

  /// Reads a snapshot whole.
  func read(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> Found {
    guard let manifest = try await remote.snapshotManifest(of: snapshot) else {
      return .broken(.snapshotManifest(of: snapshot))
    }
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

  /// Reads a snapshot whole.
  ///
  /// - Returns: its manifest; nil if something of it is missing or damaged.
  func whole(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> SnapshotManifest? {
    if case .whole(let manifest) = try await read(snapshot) { manifest } else { nil }
  }
}
