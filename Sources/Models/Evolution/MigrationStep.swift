public import OperationFormat

/// A part of a migration: see ``Store/migrate(to:_:patience:in:)``.
public struct MigrationStep: Sendable {
  enum Work: Sendable {
    case store(@Sendable (inout WriteTransaction) throws -> Void)
    case zone(@Sendable (inout WriteTransaction, ZoneID) throws -> Void)
    case records([Name], @Sendable (inout WriteTransaction, RecordID) throws -> Void)
  }

  let work: Work

  /// Once in each store: for what this device alone has.
  public static func inStore(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
  ) -> MigrationStep {
    MigrationStep(work: .store(body))
  }

  /// Once in each zone, in one write: for little that belongs together.
  public static func inZone(
    _ body: @escaping @Sendable (inout WriteTransaction, ZoneID) throws -> Void
  ) -> MigrationStep {
    MigrationStep(work: .zone(body))
  }

  /// Once for each record of a model that a zone has, many in one write.
  public static func records<M: Model>(
    of model: M.Type, _ body: @escaping @Sendable (inout WriteTransaction, Ref<M>) throws -> Void
  ) -> MigrationStep {
    MigrationStep(work: .records(model.schema.types) { tx, record in try body(&tx, Ref(record)) })
  }
}

extension MigrationStep {
  /// How many records one write migrates at most.
  static let recordsAtOnce = 256

  /// Does some of a migration's steps in a zone, as much as belongs into one write.
  ///
  /// - Parameter changed: gets each record that a step has changed.
  /// - Returns: whether all is done.
  static func run(
    _ steps: [MigrationStep], in zone: ZoneID, _ progress: inout MigrationProgress,
    _ tx: inout WriteTransaction,
    changed: (RecordID) -> Void = { _ in }
  ) throws -> Bool {
    var left = recordsAtOnce
    while progress.step < steps.count {
      switch steps[progress.step].work {
      case .store: break
      case .zone(let body):
        // It has a write for itself.
        if left < recordsAtOnce || !tx.operationCounts.isEmpty { return false }
        try body(&tx, zone)
        left = 0
      case .records(let types, let body):
        // Records that the step makes are not migrated: else it might never end.
        if progress.last == nil, progress.end == nil {
          guard let end = try names(of: types, in: zone, after: nil, max: .max, tx).last else { break }
          progress.end = end
        }
        for name in try names(of: types, in: zone, after: progress.last, max: left, tx) {
          if let end = progress.end, name > end { break }
          progress.last = name
          left -= 1
          let record = RecordID(zone: zone, name: name)
          // An earlier call may have deleted it.
          guard try tx.contains(record) else { continue }
          let before = tx.operationCounts
          try body(&tx, record)
          if tx.operationCounts != before { changed(record) }
          // The limits of a write leave room for one record more.
          if try tx.changedZones.contains(where: { try tx.fullness(in: $0) > 0.5 }) { return false }
        }
        if left <= 0, progress.last != progress.end { return false }
      }
      progress = MigrationProgress(step: progress.step + 1)
      if left <= 0, progress.step < steps.count { return false }
    }
    return true
  }

  /// The names of records of some types, in their order.
  private static func names(
    of types: [Name], in zone: ZoneID, after name: Name?, max: Int, _ tx: borrowing WriteTransaction
  ) throws -> [Name] {
    var names: [Name] = []
    try tx.scan(zone, types: types, after: name) { record in
      names.append(try record.id.name)
      return names.count < max
    }
    return names
  }
}
