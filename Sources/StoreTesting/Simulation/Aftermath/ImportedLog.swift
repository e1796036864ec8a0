import EventStore
import OperationFormat

/// A store's log with pending transactions is exported into a new store, which continues it. The old store is
/// gone, or comes back.
struct ImportedLog: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (device, zone) = pickWriter(), let old = device.store else { return }
    begin(.logImported)
    let returns = choices.next(below: 2) == 1
    for index in 0...choices.next(below: 3) {
      try write("old \(index)", to: "value", of: "imported", in: zone, on: device)
    }
    let lines = try old.exportedLines()
    let count = lines.count {
      if case .transaction(let entry) = $0 { entry.isWrite(of: "imported", in: zone) } else { false }
    }
    SimulatedMachines(world).end(device)
    let new = world.newDevice(like: device)
    try SimulatedMachines(world).boot(new)
    guard let store = new.store else { return }
    try executor.wait { try await store.importLines(lines) }
    try write("new", to: "value", of: "imported", in: zone, on: new)
    try syncAlone(new)
    if returns {
      try SimulatedMachines(world).boot(device)
      try write("old again", to: "value", of: "imported", in: zone, on: device)
    }
    try agreement.check(zone, after: "an import")
    try agreement.checkWrites(count + (returns ? 2 : 1), of: "imported", in: zone, after: "an import")
  }
}

extension LocalStore {
  /// The whole log as it is exported.
  func exportedLines() throws -> [ExportedLine] {
    var lines: [ExportedLine] = []
    try read { transaction in
      try transaction.forEachExportedLine {
        lines.append($0)
        return true
      }
    }
    return lines
  }
}

extension LogEntry {
  fileprivate func isWrite(of name: Name, in zone: ZoneID) -> Bool {
    transaction.zone == zone
      && transaction.operations.contains { operation in
        switch operation {
        case .update(let record, _, let field, _): record == name && field == "writes"
        case .create, .delete, .moveAway, .moveHere, .compact, .unknown: false
        }
      }
  }
}
