internal import EventStore
public import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Which remote the devices of a runner share.
public enum RunnerRemote: Sendable, Hashable {
  /// One in memory, a new one for each run.
  case memory
  /// A folder. Each device opens it separately, as on its own machine.
  case folder(directory: String)
  /// One that is elsewhere, and has no zones yet.
  case other(Elsewhere)

  /// A remote that the caller opens.
  public struct Elsewhere: Sendable, Hashable {
    /// Its address: two of the same are the same remote.
    public let address: String
    fileprivate let open: @Sendable () async throws -> any RemoteLog

    /// - Parameters:
    ///   - address: its address.
    ///   - open: opens it for one device.
    public init(_ address: String, open: @escaping @Sendable () async throws -> any RemoteLog) {
      (self.address, self.open) = (address, open)
    }

    public static func == (a: Self, b: Self) -> Bool { a.address == b.address }
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
  }

  /// Reads `memory` or `folder:DIR`.
  public init?(_ text: String) {
    if text == "memory" {
      self = .memory
    } else if text.hasPrefix("folder:"), text.utf8.count > 7 {
      self = .folder(directory: String(text.dropFirst(7)))
    } else {
      return nil
    }
  }

  /// Makes the remote.
  ///
  /// - Returns: a closure that opens it for one device, as a separate process would.
  func make(random: SeededRandom) async throws -> @Sendable () async throws -> any RemoteLog {
    let random = DeviceRandom(random)
    switch self {
    case .memory:
      let remote = MemoryRemote(identity: .random { random.next() })
      return { remote.reopened() }
    case .folder(let directory):
      _ = try await FolderRemote.create(directory: directory, makeRandom: { random.next() })
      return {
        // Without receive times: those of the machine's clock would make each run another.
        let objects = FolderObjects(directory: directory, makeRandom: SystemEnvironment.makeRandom)
        return try await FolderRemote(objects, wallMilliseconds: nil).checked()
      }
    case .other(let remote):
      // Two runs there would meet.
      guard try await remote.open().zoneEvents(after: nil).events.isEmpty else {
        throw HistoryError(
          .remoteNotEmpty, "the remote \(remote.address) has zones already", hint: "give one that is empty")
      }
      return remote.open
    }
  }

  /// Makes the directory of a folder's remotes, so that an error is thrown before anything runs.
  ///
  /// - Throws: ``HistoryError`` `directoryUnusable`.
  package func prepare() throws {
    if case .folder(let directory) = self { try RunnerDirectory.make(directory, for: "the remotes") }
  }

  /// A separate remote for one of many runs: in a folder that did not exist before.
  func fresh(for run: String) throws -> RunnerRemote {
    guard case .folder(let directory) = self else { return self }
    try RunnerDirectory.make(directory, for: "the remotes")
    let name = Self.fileName(run)
    for number in 1... {
      let path = number == 1 ? "\(directory)/\(name)" : "\(directory)/\(name)~\(number)"
      guard !FileManager.default.fileExists(atPath: path) else { continue }
      try RunnerDirectory.make(path, for: "the remote")
      return .folder(directory: path)
    }
    return self
  }

  /// A name that is safe in every file system: letters, digits, `.`, `_` and `-`, not hidden, not too long.
  private static func fileName(_ text: String) -> String {
    let safe = text.unicodeScalars.prefix(100).map { scalar in
      let isSafe =
        scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789._-".unicodeScalars.contains(scalar))
      return isSafe ? Character(scalar) : "_"
    }
    return safe.first == "." ? "_" + String(safe) : String(safe)
  }
}
