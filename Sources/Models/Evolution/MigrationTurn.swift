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
    if try transaction.versions(ZoneSettings.migrated, of: zone).contains(version) { return .done }
    if try transaction.attachment(of: zone) == .local { return .runs }
    let record = ZoneSettings(of: zone).record
    let claims = try transaction.contributions(of: ZoneSettings.claims(of: version), in: record) ?? []
    var first: (claim: Contribution, offset: UInt64)?
    var isOwnThere = false
    for claim in claims {
      guard case .int(let time) = claim.payload else { continue }
      let isOwn = claim.operation.transaction.replica == replica
      let age = now.subtractingReportingOverflow(time).partialValue
      // The device that has the claim ends before others take over.
      let limit = patience.components.seconds.multipliedReportingOverflow(by: 1000).partialValue
      if age > (isOwn ? limit / 2 : limit) { continue }
      if isOwn { isOwnThere = true }
      guard let place = try transaction.placement(of: claim.operation.transaction, in: zone) else { continue }
      // Those of one segment are of one device.
      if first == nil || place.offset < first!.offset { first = (claim, place.offset) }
    }
    if !isOwnThere { return .claims }
    return first?.claim.operation.transaction.replica == replica ? .runs : .waits
  }
}
