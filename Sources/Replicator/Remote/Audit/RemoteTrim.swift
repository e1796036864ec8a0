internal import EventStore
package import OperationFormat

/// Removes the old part of zones' logs at a remote, for its operator: what snapshots stand for. ``LogFloorChoice`` says
/// which part that is.
package struct RemoteTrim: Sendable {
  /// Why no more of a log goes.
  package enum Limit: Hashable, Sendable {
    /// The snapshots that can be read and are of this log, or the entries' ages or readers, do not allow it.
    case choice(LogFloorChoice.Limit)
    /// The log is damaged: it is repaired first.
    case damage
    /// The log has no entries.
    case empty
  }

  /// What is to be done about a log.
  package struct Log: Sendable {
    package var zone: ZoneID
    package var incarnation: IncarnationID
    /// The offset at which it begins now.
    package var first: UInt64
    /// The offset at which it is to begin; as `first` if nothing goes.
    package var offset: UInt64
    /// How many entries, snapshots and other objects go, and their bytes.
    package var objects: UInt64 = 0
    package var bytes: UInt64 = 0
    /// Why no more goes; nil if all goes that may.
    package var limit: Limit?
    /// Whether what says where it begins cannot be read or is wrong, and is written again.
    package var mendsFloor: Bool { newFloor != nil && isFloorLost }
    fileprivate var isFloorLost = false
    fileprivate var wrongFloor: LogFloor?
    fileprivate var newFloor: LogFloor?
    fileprivate var entries: [ObjectName] = []
    fileprivate var snapshots: [ObjectName] = []
  }

  private let remote: any LogOfObjects

  package init(_ remote: any LogOfObjects) { self.remote = remote }

  /// Says what would go.
  ///
  /// - Parameters:
  ///   - audit: of the remote as it is now.
  ///   - objects: what was listed before.
  package func plan(
    _ audit: RemoteAudit, _ objects: [ObjectEntry], _ policy: LogFloorChoice
  ) -> [Log] {
    audit.logs.filter { $0.fate == nil }.map { plan($0, objects, policy) }
  }

  private func plan(_ log: AuditedLog, _ objects: [ObjectEntry], _ policy: LogFloorChoice) -> Log {
    var plan = Log(zone: log.zone, incarnation: log.incarnation, first: log.first, offset: log.first)
    (plan.isFloorLost, plan.wrongFloor) = (log.isFloorLost, log.wrongFloor)
    let isEmpty = log.first == 1 && log.end == 0
    let isDamaged = !log.unreadable.isEmpty || log.end < log.first && !isEmpty || !log.isBeginRead
    let snapshots = isDamaged ? [] : snapshots(of: log)
    if isDamaged {
      plan.limit = .damage
    } else if isEmpty {
      plan.limit = .empty
    } else {
      let (last, limit) = policy.lastOffset(
        among: snapshots.map { ($0.name.offset, $0.manifest.floor) }, of: log.outline)
      plan.limit = limit.map { .choice($0) }
      // What says where it begins is written again, if need be, also where nothing goes.
      let highest = limit == .snapshots ? 0 : last
      if let (snapshot, manifest) = snapshots.first(where: {
        $0.name.offset <= highest || log.isFloorLost && $0.name.offset == log.first
      }), manifest.offset > log.first || log.isFloorLost {
        plan.offset = manifest.offset
        plan.newFloor = LogFloor(manifest, by: snapshot.maker)
      } else if log.isFloorLost, log.first == 1, let hash = log.hash(at: 1), let chain = log.chain(at: 1) {
        plan.newFloor = LogFloor(
          log.incarnation, offset: 1, maker: ReplicaID(rawValue: 0), hash: hash, chain: chain)
      }
    }
    // Nothing goes unless a snapshot was read that stands for it.
    guard let newest = snapshots.first, newest.manifest.offset >= plan.offset,
      log.first > 1 || plan.newFloor != nil
    else { return plan }
    // With what an earlier run could not remove, and what has no name any more.
    for object in objects {
      guard let name = object.name, name.incarnation == log.incarnation else { continue }
      if let offset = name.offset ?? name.amendedOffset, offset < plan.offset {
        plan.entries.append(name)
      } else if let snapshot = name.snapshot, snapshot.offset < plan.offset {
        plan.snapshots.append(name)
      } else {
        continue
      }
      plan.objects += 1
      plan.bytes &+= object.bytes ?? 0
    }
    plan.entries.sort { ($0.offset ?? .max, $0.description) < ($1.offset ?? .max, $1.description) }
    // The manifest of each comes before its parts.
    plan.snapshots.sort { $0.description > $1.description }
    return plan
  }

  /// The snapshots that are whole, and of this log; the newest first.
  private func snapshots(of log: AuditedLog) -> [(name: RemoteSnapshot, manifest: SnapshotManifest)] {
    let found = log.snapshots.filter { name, manifest in
      name.offset >= log.first && manifest.hash == log.hash(at: name.offset)
        && manifest.chain == log.chain(at: name.offset)
    }
    return found.sorted { $0.name.offset > $1.name.offset }
  }

  /// Does it. If it is cut short, the next run continues.
  ///
  /// - Parameters:
  ///   - log: what ``plan(_:_:_:)`` says.
  ///   - progress: called after each object that was removed; what it throws ends the work.
  package func run(_ log: Log, progress: () throws -> Void = {}) async throws {
    let store = remote.log.objects
    if let floor = log.newFloor {
      _ = try await remote.log.trimmer.raise(to: floor, insteadOf: log.wrongFloor)
    }
    // Nobody begins with the snapshots any more. Of the entries the first go first: one that is there has all that follow it.
    for name in log.snapshots + log.entries {
      try await store.delete(name)
      try progress()
    }
  }
}
