import EventStore
import OperationFormat
import Replicator

/// Devices name floors up to which the records of a zone are compacted: careful ones, such that others have not seen, and such
/// that do not count. Meanwhile others write without having read them, retire their history, read the log again, or end in the
/// middle of it. All end equal, and nothing is lost that was not seen. A careful floor changes nothing that a store shows.
struct CompactedZone: AftermathEvent {
  private static let record: Name = "compacted"

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let writer = pickWriter()?.device else { return }
    let zone = pickZone(of: writer, &choices)
    begin(.zoneCompacted)
    try write("before", to: "value", of: Self.record, in: zone, on: writer)
    try agreement.check(zone, after: "a write")
    var writes = 1
    for round in 0..<choices.next(in: 1...2) {
      let before = try floor(of: zone)
      let late = try editLate(in: zone, round, &choices)
      writes += try mix(zone, &choices)
      try settle(zone, writes, after: "floors of any kind")
      if try floor(of: zone) > before { world.count(.zonesCompacted) }
      if let late { try check(late, in: zone) }
      try compactCarefully(zone, writes, &choices)
      try agreement.checkStores(of: zone)
    }
    try addStores(to: zone, like: writer)
    try settle(zone, writes, after: "a store began with what is compacted")
    writes += try mix(zone, &choices)
    try settle(zone, writes, after: "floors of any kind")
    try agreement.checkStores(of: zone)
  }

  /// A zone that a device writes to and syncs: mostly one that has fields of every kind.
  private func pickZone(of device: SimulatedDevice, _ choices: inout SimulationChoices) -> ZoneID {
    let open = device.view.zones.map(\.facts).filter { !$0.isClosed && $0.incarnation != nil }.map(\.zone)
    let (zone, cells) = (choices.pick(open), CellWorkload().zones[0])
    return choices.next(below: 4) < 3 && open.contains(cells) ? cells : zone
  }

  /// The devices that have the zone.
  private func holders(of zone: ZoneID) throws -> [SimulatedDevice] {
    try agreement.devices(with: zone).filter { try token(of: zone, $0) != nil }
  }

  private func writers(of zone: ZoneID) throws -> [SimulatedDevice] {
    try holders(of: zone).filter { $0.configuration.role == .writer }
  }

  // MARK: Floors of any kind

  /// Lets devices write, sync and name floors, whatever others have seen. About half of them do not read what the others do.
  ///
  /// - Returns: how many writes of the record there were.
  private func mix(_ zone: ZoneID, _ choices: inout SimulationChoices) throws -> Int {
    let devices = try writers(of: zone)
    guard !devices.isEmpty else { return 0 }
    let late = devices.filter { _ in choices.next(below: 2) == 1 }
    var writes = 0
    for _ in 0..<choices.next(in: 4...16) {
      let device = choices.pick(devices)
      switch choices.next(below: 10) {
      case 0...3: try writeAsBefore(to: zone, on: device, &choices)
      case 4:
        try write("\(writes),", to: "value", of: Self.record, in: zone, on: device)
        writes += 1
      case 5, 6: try nameFloor(of: zone, on: device, &choices)
      case 7, 8:
        let steps: SyncSteps = choices.pick([.all, .fetch, .ship])
        try syncAlone(device, late.contains { $0 === device } ? .ship : steps)
      default: try disturb(zone, device, &choices)
      }
    }
    return writes
  }

  /// Lets a workload write, which does not read first what others did.
  private func writeAsBefore(
    to zone: ZoneID, on device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    let write = SimulatedWrite(seededBy: &choices)
    guard let store = device.store,
      let workload = device.workloads.first(where: { $0.zones.contains(zone) }),
      SimulatedWrites(world).mayWrite(workload, device)
    else { return }
    note("d\(device.number) writes \(workload.name)")
    try act(device) {
      do {
        try store.writeBlockingThisThread { try write.run(workload, &$0) }
      } catch let error as SimulationFailure {
        throw error
      } catch let error as StoreError {
        try ErrorChecker(world).expect(error, [.recordUnknown, .recordExists])
      } catch {
        // The app's own errors are no errors of the store.
        note("d\(device.number) write failed: \(ErrorChecker.code(of: error))")
      }
    }
  }

  /// Names a floor, mostly near the end of what the device has read. One that is above that, or below the last one, does not
  /// count.
  private func nameFloor(
    of zone: ZoneID, on device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    guard let token = try token(of: zone, device), token.offset > 0 else { return }
    let end = Int(token.offset)
    let floor =
      switch choices.next(below: 4) {
      case 0: end
      case 1: end - choices.next(below: min(end, 8))
      case 2: 1 + choices.next(below: end)
      default: end + 1 + choices.next(below: 8)
      }
    try name(UInt64(floor), of: zone, on: device)
  }

  private func edit(
    _ device: SimulatedDevice, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
  ) throws {
    guard let store = device.store else { return }
    try act(device) { try store.writeBlockingThisThread(body) }
  }

  /// Does something to a device that must not matter.
  private func disturb(
    _ zone: ZoneID, _ device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    switch choices.next(below: 5) {
    case 0: try restart(device)
    case 1: try retireHistory(of: zone, on: device)
    case 2:
      // From now on it puts snapshots at the remote.
      device.snapshotBytesMin = 1
      try restart(device)
    case 3: try readAgain(zone, on: device)
    default: try syncCutShort(device, &choices)
    }
  }

  private func readAgain(_ zone: ZoneID, on device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    do {
      try act(device) { _ = try executor.wait { try await store.beginRereading(zone, from: 1) } }
    } catch let error as StoreError where error.code == .retired {
      return
    }
    note("d\(device.number) reads the log of \(zone) again")
  }

  /// Lets a device's process end in one of its next commits: it may have read a floor, and not compacted all records.
  private func syncCutShort(_ device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard options.faults.contains(.crashInCommit) else { return }
    device.commitsLeft = choices.next(below: 6)
    try syncAlone(device)
    device.commitsLeft = nil
    try SimulatedMachines(world).boot(device)
  }

  // MARK: Late edits

  /// Records that a device edits without having seen what another one did to them, nor the floor above that.
  private struct LateRecords: Sendable {
    /// The other one removes the end of its text.
    let text: RecordID
    /// The other one deletes it.
    let made: RecordID
    /// The other one adds to its counter.
    let counted: RecordID

    init(_ zone: ZoneID, _ round: Int) {
      func id(_ what: String) -> RecordID { RecordID(zone: zone, name: Name("late \(what) \(round)")) }
      (text, made, counted) = (id("text"), id("made"), id("counted"))
    }

    var all: [RecordID] { [text, made, counted] }
  }

  /// - Returns: nil if no device was late, or it has read by itself what the other one did.
  private func editLate(
    in zone: ZoneID, _ round: Int, _ choices: inout SimulationChoices
  ) throws -> LateRecords? {
    let devices = try writers(of: zone)
    guard devices.count > 1 else { return nil }
    let index = choices.next(below: devices.count)
    let (late, other) = (devices[index], devices[(index + 1) % devices.count])
    let records = LateRecords(zone, round)
    try edit(late) { transaction in
      for record in records.all { try transaction.create(record, type: "aftermath") }
      try transaction.insertText("abcdef", at: 0, in: "text", of: records.text)
      try transaction.insertText("old", at: 0, in: "text", of: records.made)
      try transaction.add(1, to: "writes", of: records.counted)
    }
    for device in [late, other, late] { try syncAlone(device) }
    let isThere = try other.store?.read { transaction in
      try records.all.allSatisfy { try transaction.contains($0) }
    }
    guard isThere ?? false, let known = try token(of: zone, late)?.offset else { return nil }
    try edit(other) { transaction in
      try transaction.removeText(3..<6, from: "text", of: records.text)
      try transaction.delete(records.made)
      try transaction.add(1, to: "writes", of: records.counted)
    }
    try syncAlone(other)
    // What it ships comes behind that.
    try edit(late) { try $0.add(1, to: "writes", of: records.counted) }
    try syncAlone(late, .ship)
    try syncAlone(other)
    guard let end = try token(of: zone, other)?.offset, end > known else { return nil }
    try name(end, of: zone, on: other)
    try syncAlone(other)
    guard try token(of: zone, late)?.offset == known else { return nil }
    note("d\(late.number) edits without having seen that")
    try edit(late) { transaction in
      try transaction.insertText("x", at: 6, in: "text", of: records.text)
      for record in [records.made, records.counted] {
        try transaction.delete(record)
        try transaction.create(record, type: "aftermath")
      }
      try transaction.insertText("ab", at: 0, in: "text", of: records.made)
      try transaction.add(1, to: "writes", of: records.counted)
    }
    try edit(late) { try $0.removeText(0..<1, from: "text", of: records.made) }
    return records
  }

  /// The edits have removed what their device had seen, and are where it made them.
  private func check(_ records: LateRecords, in zone: ZoneID) throws {
    for device in try holders(of: zone) {
      guard let store = device.store else { continue }
      let (text, made, counter) = try store.read { transaction in
        try (
          transaction.text(of: "text", in: records.text), transaction.text(of: "text", in: records.made),
          transaction.counter("writes", of: records.counted)?.value
        )
      }
      let shown = "d\(device.number), after edits that had not seen a floor, shows"
      guard text == "abcx" else {
        throw SimulationFailure(.nothingVanishes, "\(shown) “\(text ?? "nothing")” for “abcx”")
      }
      // The deletion may win, if the floor is not above it.
      guard made ?? "b" == "b" else {
        throw SimulationFailure(.nothingVanishes, "\(shown) “\(made ?? "nothing")” for “b”")
      }
      guard case .int(let count)? = counter, count >= 2 else {
        throw SimulationFailure(
          .countedOnce, "\(shown) a count of \(counter.map { "\($0)" } ?? "nothing"), and two were not seen")
      }
    }
  }

  // MARK: Careful floors

  /// What an app sees of a record.
  private struct Shown: Equatable {
    var record: Record
    var created: SystemFields.Change?
    var modified: SystemFields.Change?
  }

  private func shown(_ zone: ZoneID, on device: SimulatedDevice) throws -> [Shown] {
    guard let store = device.store else { return [] }
    return try store.read { transaction in
      try transaction.records(in: zone).map { record in
        let system = try transaction.withRecord(record.id) { try $0.system }
        return Shown(record: record, created: system?.created, modified: system?.modified)
      }
    }
  }

  /// Lets a device compact the zone up to what all have seen, or up to its end. All are settled, so nothing that they show
  /// changes.
  private func compactCarefully(
    _ zone: ZoneID, _ writes: Int, _ choices: inout SimulationChoices
  ) throws {
    let (devices, writers) = try (holders(of: zone), writers(of: zone))
    guard !writers.isEmpty else { return }
    let device = choices.pick(writers)
    guard let store = device.store else { return }
    let policy = CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: choices.pick([0, .max]))
    let before = try devices.map { try shown(zone, on: $0) }
    var plan: CompactionPlan?
    try act(device) { plan = try executor.wait { try await store.compact(zone, keeping: policy) } }
    guard let next = plan?.next else { return }
    note("d\(device.number) compacts \(zone) up to \(next)")
    try settle(zone, writes, after: "a zone was compacted")
    guard try floor(of: zone) >= next else {
      throw SimulationFailure(
        .roundsMakeProgress, "d\(device.number) has compacted \(zone) up to \(next), and that does not count")
    }
    world.count(.zonesCompacted)
    for (device, before) in zip(devices, before) {
      let now = try shown(zone, on: device)
      guard now != before else { continue }
      let changed = (before + now).first { now.contains($0) != before.contains($0) }?.record.id
      let (was, becomes) = (before.first { $0.record.id == changed }, now.first { $0.record.id == changed })
      throw SimulationFailure(
        .recordsAreFold,
        "compacting \(zone) changes what d\(device.number) shows of \(changed.map { "\($0)" } ?? "it"): "
          + "\(was.map { "\($0)" } ?? "nothing") becomes \(becomes.map { "\($0)" } ?? "nothing")")
    }
  }

  // MARK: Checks

  private func settle(_ zone: ZoneID, _ writes: Int, after event: String) throws {
    try agreement.check(zone, after: event)
    try agreement.checkWrites(writes, of: Self.record, in: zone, after: event)
  }

  /// The floor of the zone, which all stores that are settled agree on; 0 for none.
  private func floor(of zone: ZoneID) throws -> UInt64 {
    var known: UInt64?
    for device in try holders(of: zone) {
      guard let store = device.store else { continue }
      let found = try store.information().zones.first { $0.id == zone }?.floor ?? 0
      guard known ?? found == found else {
        throw SimulationFailure(
          .equalSetsAreEqual,
          "d\(device.number) has compacted \(zone) up to \(found), and another device up to \(known ?? 0)")
      }
      known = found
    }
    return known ?? 0
  }

  /// Adds a store that reads the log, or begins with a snapshot that the remote has, and one that begins with a snapshot of
  /// another store.
  private func addStores(to zone: ZoneID, like writer: SimulatedDevice) throws {
    let machines = SimulatedMachines(world)
    let reader = world.newDevice(like: writer)
    try machines.boot(reader)
    try syncAlone(reader)
    guard let source = writer.store, let manifest = try agreement.snapshot(of: zone, source) else { return }
    let begun = world.newDevice(like: writer)
    try machines.boot(begun)
    guard let store = begun.store else { return }
    note("d\(begun.number) begins \(zone) with a snapshot of d\(writer.number)")
    try act(begun) {
      try store.writeBlockingThisThread { transaction in
        try transaction.createZone(zone)
        try transaction.attachZone(zone)
      }
      _ = try executor.wait {
        try await store.begin(zone, with: manifest) { try source.snapshotPart($0, of: manifest) }
      }
    }
    world.count(.zonesBegun)
  }
}
