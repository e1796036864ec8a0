package import OperationFormat

/// Discards the log of a zone at a remote, with its snapshots and assets, for the remote's operator: purges it, and stores keep
/// what they have; or resets it, and they send everything again.
package struct RemoteDiscard: Sendable {
  /// What goes of a log.
  package struct Log: Sendable {
    package var zone: ZoneID
    package var incarnation: IncarnationID
    /// Whether it was discarded so before, and has objects left.
    package var isContinued: Bool
    /// How many objects go, and their bytes.
    package var objects: UInt64 = 0
    package var bytes: UInt64 = 0
  }

  private let remote: any LogOfObjects
  private let isReset: Bool

  package init(_ remote: any LogOfObjects, isReset: Bool) {
    self.remote = remote
    self.isReset = isReset
  }

  /// Says what would go: of the zone's open log, or else of its last one that was discarded so before.
  ///
  /// - Parameters:
  ///   - zone: the zone.
  ///   - incarnation: its log, if the user names that; a zone may have had several.
  ///   - objects: what was listed before.
  /// - Returns: nil if there is no such log.
  /// - Throws: ``RemoteError`` `zoneUnknown` if the only such logs were deleted.
  package func plan(
    _ zone: ZoneID, _ incarnation: IncarnationID?, _ objects: [ObjectEntry]
  ) async throws(RemoteError) -> Log? {
    var listed = ListedLogs()
    try await remote.forEachZoneEventPage { page in
      listed.add(page)
      return true
    }
    let fate: ZoneFate = isReset ? .reset : .purged
    let named = listed.logs.filter { $0.incarnation == incarnation }
    let all = named.isEmpty ? listed.logs.filter { $0.zone == zone } : named
    let lives = all.filter { $0.fate == nil || $0.fate == fate }
    guard let log = lives.last(where: { $0.fate == nil }) ?? lives.last else {
      if all.contains(where: { $0.fate == .deleted }) { throw deleted(zone) }
      return nil
    }
    var plan = Log(zone: log.zone, incarnation: log.incarnation, isContinued: log.fate == fate)
    let found = objects.filter { $0.name?.incarnation == log.incarnation }
    let names = found.compactMap(\.name)
    plan.objects = plan.isContinued ? AuditedLog.leftObjects(names) : UInt64(names.count)
    plan.bytes = plan.objects > 0 ? found.reduce(0) { $0 &+ ($1.bytes ?? 0) } : 0
    return plan
  }

  /// A deleted log is kept: its seal promises stores what was before it.
  private func deleted(_ zone: ZoneID) -> RemoteError {
    RemoteError(
      .zoneUnknown, "the zone “\(zone)” was deleted, and its log is kept",
      hint:
        "a store that was away reads it to its end, and one that brings the zone back continues it. A zone of which "
        + "nothing is to stay is purged first, and then deleted in the stores")
  }

  /// Does it. If it is cut short, the next run continues.
  ///
  /// - Throws: ``RemoteError``, as ``RemoteLog/purgeZone(_:_:)`` or ``RemoteLog/resetZone(_:_:)``.
  package func run(_ log: Log) async throws(RemoteError) {
    isReset
      ? try await remote.resetZone(log.zone, log.incarnation)
      : try await remote.purgeZone(log.zone, log.incarnation)
  }
}

extension AuditedLog {
  /// How many objects of a discarded log are left besides its seal.
  ///
  /// - Parameter names: all that it has.
  static func leftObjects(_ names: [ObjectName]) -> UInt64 {
    UInt64(names.count) - (names.contains { $0.offset != nil } ? 1 : 0)
  }
}
