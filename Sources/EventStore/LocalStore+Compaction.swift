public import OperationFormat

/// Folding together what records have: see <doc:MergeRules>.
extension LocalStore {
  /// Says up to where the records of a zone could be compacted, what would go, and who holds it up. Nothing changes.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `outOfOrder` if the zone was never synced, `damaged`, `closed`.
  /// - Complexity: linear in the entries of the zone's log, and in its records.
  public func compactionPlan(
    of zone: ZoneID, keeping policy: CompactionPolicy = CompactionPolicy()
  ) throws -> CompactionPlan {
    try StoreError.translating {
      try core.read { source in
        try CompactionChoice(of: zone, source, keeping: policy, at: core.configuration.wallMilliseconds())
          .plan(source)
      }
    }
  }

  /// Lets the records of a zone be compacted, in all stores that sync it: names a floor in the zone's log.
  ///
  /// Of a record that nobody has changed since the floor stays what it shows. What lost a conflict goes, and so do deleted
  /// records, removed elements of lists and scalars of texts, and the single contributions to a counter. Each store does
  /// so when it has read the log up to here; this one once the transaction is sent.
  ///
  /// - Returns: the plan that was followed. If its `next` is nil, nothing was written.
  /// - Throws: as ``compactionPlan(of:keeping:)`` and ``write(_:)``.
  @discardableResult
  public func compact(
    _ zone: ZoneID, keeping policy: CompactionPolicy = CompactionPolicy()
  ) async throws -> CompactionPlan {
    let plan = try compactionPlan(of: zone, keeping: policy)
    if let next = plan.next { try await write { try $0.nameFloor(next, of: zone) } }
    return plan
  }

  /// Names floors of zones, where they rise by a quarter of what the policy keeps: so compacting costs little for each
  /// write.
  package func compactDue(_ zones: [ZoneID], keeping policy: CompactionPolicy) async throws {
    for zone in zones {
      let next = try StoreError.translating {
        try core.read { source in
          try CompactionChoice(of: zone, source, keeping: policy, at: core.configuration.wallMilliseconds())
            .due
        }
      }
      if let next { try await write { try $0.nameFloor(next, of: zone) } }
    }
  }
}

extension WriteTransaction {
  /// Names a floor of a zone's log, whatever it is. It must be all that the write does in the zone.
  package mutating func nameFloor(_ floor: UInt64, of zone: ZoneID) throws {
    try write.nameFloor(floor, of: zone)
  }
}
