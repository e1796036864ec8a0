import EventStore
import OperationFormat
import Replicator

extension SimulatedWorld {
  /// Once the world has come to rest: copies a store, and lets both write and sync. They share an identity, so that what
  /// the second one ships has sequences that the remote has with other content.
  ///
  /// As long as copies do not take an identity of their own, what must hold is that the fork is told, that nothing is
  /// overwritten, and that nothing which was written counts as shipped.
  func copyAStore(_ choices: inout SimulationChoices) throws {
    let writers = devices.filter { device in
      device.configuration.role == .writer && device.view.zones.contains { !$0.facts.isClosed }
    }
    guard let device = writers.first,
      let zone = device.view.zones.first(where: { !$0.facts.isClosed })?.facts.zone
    else { return }
    mark(.storeCopied)
    isCopied = true
    device.end()
    executor.run()
    let copy = try copyDevice(device)
    for device in [device, copy] { try boot(device) }
    try drain()
    for (index, device) in [device, copy].enumerated() { try write("copy \(index)", to: zone, on: device) }
    // Fetching first, the second one meets the other's segment in a page; shipping alone, where its own was to lie.
    try syncAlone(copy, .all)
    try syncAlone(device, choices.next(below: 2) == 0 ? .all : .ship)
    try checkIsForked(zone, of: device)
  }

  private func write(_ value: String, to zone: ZoneID, on device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    try act(device) {
      try store.writeBlockingThisThread { transaction in
        let record = RecordID(zone: zone, name: "copied")
        if try !transaction.contains(record) { try transaction.create(record, type: "copied") }
        try transaction.set("value", of: record, to: .string(value))
      }
    }
  }

  private func syncAlone(_ device: SimulatedDevice, _ steps: SyncSteps) throws {
    try act(device) { try deliver(.syncRequested(steps), device, 0) }
    try drain()
  }

  private func checkIsForked(_ zone: ZoneID, of device: SimulatedDevice) throws {
    guard let store = device.store, let report = device.replicators[0].last?.report else { return }
    let status = report.zones.first { $0.zone == zone }?.status
    guard case .forked = status else {
      throw SimulationFailure(
        .nothingIsSilent,
        "zone \(zone) of a copied store is \(status.map(Self.describe) ?? "not told of"), and both have written"
      )
    }
    let state = try store.syncState().zones.first { $0.zone == zone }
    guard state?.pending == 1 else {
      throw SimulationFailure(
        .acknowledgedIsEverywhere,
        "\(state?.pending ?? 0) transactions of \(zone) are pending in a copied store whose one was refused")
    }
  }
}
