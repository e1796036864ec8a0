import OperationFormat

/// Whose turn it is to migrate a zone.
enum MigrationTurn {
  case done, claims, waits, runs

  /// - Parameters:
  ///   - zone: the zone.
  ///   - version: the version of the schema that it is to get.
  ///   - replica: this device.
  ///   - patience: how long a claim counts.
  ///   - now: in milliseconds since 1970.
  ///   - transaction: what is read.
  static func of(
    _ zone: ZoneID, _ version: UInt64, _ replica: ReplicaID, _ patience: Duration, _ now: Int64,
    _ transaction: borrowing ReadTransaction
  ) throws -> MigrationTurn {
    if try transaction.isMigrated(zone, to: version) { return .done }
    if try transaction.attachment(of: zone) == .local { return .runs }
    let record = ZoneSettings(of: zone).record
    let claims = try transaction.contributions(of: ZoneSettings.claims(of: version), in: record) ?? []
    let limit = milliseconds(patience)
    var first: (replica: ReplicaID, offset: UInt64)?
    var (isOwnThere, isOtherThere) = (false, false)
    for claim in claims {
      let claimant = claim.operation.transaction.replica
      guard case .int(let time) = claim.payload else { continue }
      let (age, isFar) = now.subtractingReportingOverflow(time)
      // The device that has the claim ends before others take over. A time that is far ahead is no clock's.
      guard !isFar, age >= -limit, age <= (claimant == replica ? limit / 2 : limit) else { continue }
      if claimant == replica { isOwnThere = true } else { isOtherThere = true }
      // What is compacted is placed before all that is not.
      let isCompacted = claim.operation.transaction.sequence == 0
      guard
        let place = try isCompacted
          ? 0 : transaction.placement(of: claim.operation.transaction, in: zone)?.offset
      else { continue }
      // Those of one segment are of one device.
      if first == nil || place < first!.offset { first = (claimant, place) }
    }
    // Where a claim of another counts, no second one is added: all would wait for each other.
    if !isOwnThere { return isOtherThere ? .waits : .claims }
    // An own claim may be placed behind what is not read yet, and so behind another claim.
    guard let first, first.replica == replica, let read = try transaction.base(of: zone)?.offset,
      first.offset <= read
    else { return .waits }
    return .runs
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1000)
    return isOver ? .max / 2 : max(0, min(.max / 2, whole)) + attoseconds / 1_000_000_000_000_000
  }
}
