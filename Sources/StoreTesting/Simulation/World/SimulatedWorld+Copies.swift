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
    let lines = try exportedLines(old)
    let count = lines.count {
      if case .transaction(let entry) = $0 { entry.isWrite(of: "imported", in: zone) } else { false }
    }
    device.end()
    executor.run()
    let new = newDevice(like: device)
    try boot(new)
    guard let store = new.store else { return }
    try executor.wait { try await store.importLines(lines) }
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

  /// Two stores in a row import the log of the one before, with pending transactions. Then the first one comes back from a backup,
  /// and ships another branch: the last one takes over all that it has of the others, or lets go of it. The others are gone.
  func importInAChain(_ choices: inout SimulationChoices) throws {
    guard let (first, zone) = pickWriter() else { return }
    mark(.logImported)
    isCopied = true
    let (answer, branches) = (choices.next(below: 2), 1 + choices.next(below: 3))
    func write(_ count: Int, _ value: String, on device: SimulatedDevice) throws {
      for index in 0..<count {
        try self.write("\(value) \(index)", to: "value", of: "chained", in: zone, on: device)
      }
    }
    first.end()
    executor.run()
    let backup = try copyDevice(first)
    try boot(first)
    var (counted, device) = (0, first)
    for value in ["first", "second"] {
      let count = 1 + choices.next(below: 3)
      try write(count, value, on: device)
      counted += count
      guard let store = device.store else { return }
      let lines = try exportedLines(store)
      device.end()
      executor.run()
      device = newDevice(like: first)
      try boot(device)
      guard let next = device.store else { return }
      try executor.wait { try await next.importLines(lines) }
    }
    try write(1, "last", on: device)
    try boot(backup)
    try write(branches, "branch", on: backup)
    try syncAlone(backup)
    try syncAlone(device)
    guard let store = device.store else { return }
    let settled = try executor.wait {
      let count = try await store.settleClosedLanes(of: zone, answer == 0 ? .takeOver : .letGo)
      try await store.finishRenewal()
      return count
    }
    guard settled == counted else {
      throw SimulationFailure(
        .countedOnce, "after a chain of imports, \(settled) of \(counted) transactions were settled")
    }
    try checkAgreement(in: zone, "a chain of imports")
    for device in devicesWithPart(in: zone) {
      try checkWrites(
        branches + 1 + (answer == 0 ? counted : 0), of: "chained", in: zone, on: device,
        "a chain of imports")
    }
  }

  private func exportedLines(_ store: LocalStore) throws -> [ExportedLine] {
    var lines: [ExportedLine] = []
    try store.read { transaction in
      try transaction.forEachExportedLine {
        lines.append($0)
        return true
      }
    }
    return lines
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
