import EventStore
import OperationFormat

/// Compares a store with the facts after each of its commits, as far as it changed since the last comparison.
struct StoreChecker {
  private let facts: SimulationFacts
  private let workloads: [any SimulationWorkload]

  init(_ facts: SimulationFacts, _ workloads: [any SimulationWorkload]) {
    self.facts = facts
    self.workloads = workloads
  }

  /// - Parameter wall: what the device's wall clock shows.
  func check(_ device: SimulatedDevice, _ store: LocalStore, wall: Int64) throws {
    try store.read { transaction in
      let state = try transaction.syncState()
      var view = device.view
      defer { device.view = view }
      try ZoneChecker(facts).check(state, &view, device)
      let isFoldingAgain = try transaction.isFoldingAgain()
      for zone in view.zones {
        if isFoldingAgain {
          zone.show(upTo: try transaction.base(of: zone.facts.zone))
        } else {
          zone.showAll()
        }
      }
      try LogChecker.check(transaction, &view, device, wall: wall)
      try compare(state, transaction, view)
    }
  }

  private func compare(
    _ state: StoreSyncState, _ transaction: borrowing ReadTransaction, _ view: DeviceView
  ) throws {
    var hasChanged = false
    let model = view.model
    for zone in view.zones {
      try ShipmentChecker.check(zone, state, transaction)
      let records = zone.takeTouched()
      guard !records.isEmpty else { continue }
      hasChanged = true
      try StateChecker.check(zone, in: model, records, transaction)
    }
    guard hasChanged else { return }
    for workload in workloads where workload.zones.allSatisfy({ view.zone($0) != nil }) {
      try workload.check(transaction)
    }
  }
}
