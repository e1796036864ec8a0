import EventStore
import OperationFormat
import Replicator

/// Stores that hold what another store has written: copies of a directory, and imported logs.
extension SimulatedWorld {
  /// Copies a store, and lets both write and sync. They share an identity, so that what the second one ships has
  /// sequences that the remote has with other content. It takes another epoch, and nothing is lost.
  func copyAStore(_ choices: inout SimulationChoices) throws {
    guard let (device, zone) = pickWriter() else { return }
    mark(.storeCopied)
    isCopied = true
    let isPendingBefore = choices.next(below: 2) == 1
    if isPendingBefore { try write("before", to: "value", of: "copied", in: zone, on: device) }
    device.end()
    executor.run()
    let copy = try copyDevice(device)
    for device in [device, copy] { try boot(device) }
    for (index, device) in [device, copy].enumerated() {
      try write("copy \(index)", to: "value", of: "copied", in: zone, on: device)
      try write("copy \(index)", to: "value", of: Name("copied \(index)"), in: zone, on: device)
    }
    // Fetching first, the second one meets the other's segment in a page; shipping alone, where its own was to be.
    try syncAlone(copy)
    try syncAlone(device, choices.next(below: 2) == 0 ? .all : .ship)
    try checkAgreement(in: zone, "a copy")
    for device in devicesWithPart(in: zone) {
      try checkWrites(isPendingBefore ? 3 : 2, of: "copied", in: zone, on: device, "a copy")
    }
  }

  /// Exports a store's log with pending transactions into a new store, which goes on. The old one is gone, or comes back.
  func importALog(_ choices: inout SimulationChoices) throws {
    guard let (device, zone) = pickWriter(), let old = device.store else { return }
    mark(.logImported)
    isCopied = true
    let returns = choices.next(below: 2) == 1
    for index in 0...choices.next(below: 3) {
      try write("old \(index)", to: "value", of: "imported", in: zone, on: device)
    }
    var lines: [ExportedLine] = []
    try old.read { transaction in
      try transaction.forEachExportedLine {
        lines.append($0)
        return true
      }
    }
    let count = lines.count {
      if case .transaction(let entry) = $0 { entry.isWrite(of: "imported", in: zone) } else { false }
    }
    device.end()
    executor.run()
    let new = newDevice(like: device)
    try boot(new)
    guard let store = new.store else { return }
    try executor.wait { [lines] in try await store.importLines(lines) }
    try write("new", to: "value", of: "imported", in: zone, on: new)
    try syncAlone(new)
    if returns {
      try boot(device)
      try write("old again", to: "value", of: "imported", in: zone, on: device)
    }
    try checkAgreement(in: zone, "an import")
    for device in devicesWithPart(in: zone) {
      try checkWrites(count + (returns ? 2 : 1), of: "imported", in: zone, on: device, "an import")
    }
  }

  /// A write that was counted twice, or not at all, shows in a counter.
  func checkWrites(
    _ count: Int, of name: Name, in zone: ZoneID, on device: SimulatedDevice, _ what: String
  ) throws {
    let record = RecordID(zone: zone, name: name)
    let found = try device.store?.read { try $0.counter("writes", of: record)?.value }
    guard found != .int(Int64(count)) else { return }
    throw SimulationFailure(
      .countedOnce,
      "after \(what), d\(device.number) counts \(found.map { "\($0)" } ?? "no") of \(count) writes of \(record)"
    )
  }
}

extension LogEntry {
  fileprivate func isWrite(of name: Name, in zone: ZoneID) -> Bool {
    transaction.zone == zone
      && transaction.operations.contains {
        if case .update(name, _, "writes", _) = $0 { true } else { false }
      }
  }
}
