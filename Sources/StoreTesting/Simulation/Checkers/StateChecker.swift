import EventStore
import OperationFormat

/// Checks that a zone's state is the oracle's, and that stores with the same transactions have the same
/// digest: invariants 3 and 4.
enum StateChecker {
  /// - Parameters:
  ///   - store: what the store has of all its zones.
  ///   - records: the records that changed since the last check.
  static func check(
    _ zone: DeviceZone, in store: StoreModel, _ records: [Name], _ transaction: borrowing ReadTransaction
  ) throws {
    do {
      try zone.facts.model.compare(transaction, zone.view, besides: store, records: records)
    } catch {
      throw SimulationFailure(.stateIsOracles, "zone \(zone.facts.zone): \(error)")
    }
    let digest = try transaction.digest(of: zone.facts.zone)
    let hash = zone.stateHash
    if let other = zone.facts.digests[hash], other != digest {
      throw SimulationFailure(
        .equalSetsAreEqual,
        "zone \(zone.facts.zone): two stores with the same transactions have other digests")
    }
    zone.facts.digests[hash] = digest
  }
}
