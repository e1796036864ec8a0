public import OperationFormat

/// Changing what is stored to what a new version of the app expects.
extension Store {
  /// The zone of what the app has done once on this device.
  private static let ownZone: ZoneID = "tributary.store"

  /// Migrates all zones of the store, and the store itself, to a version of the schema. Does nothing for
  /// those that are there.
  ///
  /// ```swift
  /// let waiting = try await store.migrate(
  ///   to: 3, [.records(of: Article.self) { tx, article in tx[article].slug = slug(of: tx[article].headline) }]
  /// )
  /// ```
  ///
  /// A zone is migrated once, by one device: each device that finds it to do claims it, and the claim that
  /// comes first in the zone's remote log counts. So a synced zone takes two calls with a sync between: call
  /// it at each start and after each round until it returns no zone. The device that has the claim continues
  /// where it was cut short. If it does not end within `patience`, the next claim counts. A local zone is
  /// migrated at once.
  ///
  /// What an older version of the app writes later is not migrated: read it by a former name or an upcast, or
  /// require the schema with `requireSchema(_:in:)`.
  ///
  /// Where an app has several migrations, begin the next one only once the one before returned no zone: a
  /// zone that was migrated to a later version is not migrated to an earlier one. Attach a local zone to a
  /// remote before it is migrated, or when all devices are.
  ///
  /// - Parameters:
  ///   - version: the version, from 1. Use a greater one for each migration.
  ///   - steps: what is done, in order.
  ///   - patience: how long the claim of a device counts that does not end.
  ///   - zones: the zones; nil for all of the store.
  /// - Returns: the zones that wait for a sync, or for another device.
  /// - Throws: what a step throws: what the writes before it have done stays, and the next call continues.
  ///   `StoreError` as ``write(_:)``.
  public func migrate(
    to version: UInt64, _ steps: [MigrationStep], patience: Duration = .seconds(86_400),
    in zones: [ZoneID]? = nil
  ) async throws -> [ZoneID] {
    precondition(1...UInt64(Int64.max) ~= version, "schemas are counted from 1")
    try await migrateStore(to: version, steps)
    if !steps.contains(where: { if case .store = $0.work { false } else { true } }) { return [] }
    var waiting: [ZoneID] = []
    for zone in try zones ?? read({ try $0.zones() }) where zone != Self.ownZone {
      // What this version of the app may not write to, a newer one migrates.
      if try read({ try $0.minimumSchema(of: zone) }) > schema ?? 0 { continue }
      if try await !migrate(zone, to: version, steps, patience) { waiting.append(zone) }
    }
    return waiting
  }

  private func migrateStore(to version: UInt64, _ steps: [MigrationStep]) async throws {
    let works = steps.compactMap { if case .store(let body) = $0.work { body } else { nil } }
    if works.isEmpty { return }
    try await write { tx in
      try tx.createZone(Self.ownZone)
      if try tx.versions(ZoneSettings.migrated, of: Self.ownZone).contains(version) { return }
      for body in works { try body(&tx) }
      try tx.insert(
        ZoneSettings.value(version), into: ZoneSettings.migrated, ofSettings: ZoneSettings(of: Self.ownZone))
    }
  }

  /// - Returns: whether it is done.
  private func migrate(
    _ zone: ZoneID, to version: UInt64, _ steps: [MigrationStep], _ patience: Duration
  ) async throws -> Bool {
    let settings = ZoneSettings(of: zone)
    while true {
      switch try read({ try MigrationTurn.of(zone, version, local.identity.replica, patience, now, $0) }) {
      case .done: return true
      case .waits: return false
      case .claims:
        let time = Value.int(now)
        try await write { tx in
          try tx.makeRecord(of: settings)
          try tx.contribute(time, to: ZoneSettings.claims(of: version), of: settings.record)
        }
        return false
      case .runs: break
      }
      try Task.checkCancellation()
      let isEmpty = try await write { tx in
        // Another process may have done more since.
        if try tx.isMigrated(zone, to: version) { return false }
        let field = ZoneSettings.progress(of: version)
        let before = try tx.value(of: field, in: settings.record)
        var progress = MigrationProgress(before)
        let isDone = try MigrationStep.run(steps, in: zone, &progress, &tx)
        // A local zone in which there was nothing to do is not marked: it may be attached to a remote where
        // there is.
        if isDone, before == nil, tx.operationCounts.isEmpty, try tx.attachment(of: zone) == .local {
          return true
        }
        try tx.makeRecord(of: settings)
        if isDone {
          try tx.insert(ZoneSettings.value(version), into: ZoneSettings.migrated, ofSettings: settings)
        }
        try tx.set(field, of: settings.record, to: isDone ? .null : progress.value)
        return false
      }
      if isEmpty { return true }
    }
  }

  private var now: Int64 { local.wallMilliseconds() }
}
