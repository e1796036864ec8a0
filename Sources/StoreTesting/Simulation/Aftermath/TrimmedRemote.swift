import EventStore
import OperationFormat
import Replicator

/// The remote's operator removes the old part of a zone's log, for which snapshots stand, or a device does by its policy. A
/// device was away meanwhile, and has written: it begins with a snapshot, and sends what it has. A new one does too. All end
/// equal.
struct TrimmedRemote: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let remote = DamagedRemote(place), let (writer, zone) = pickWriter() else { return }
    let others = agreement.devices(with: zone).filter { $0 !== writer && $0.configuration.role == .writer }
    guard let away = others.last else { return }
    begin(.remoteTrimmed)
    let machines = SimulatedMachines(world)
    let isByPolicy = choices.next(below: 2) == 0
    writer.snapshotBytesMin = 1
    writer.trimMilliseconds = isByPolicy ? Self.day : nil
    machines.end(writer)
    try machines.boot(writer)
    try write("before", to: "value", of: "trimmed", in: zone, on: writer)
    try agreement.check(zone, after: "a write")
    var writes = 1
    for round in 0..<2 {
      if round == 1, choices.next(below: 2) == 0 {
        try write("away", to: "value", of: "trimmed", in: zone, on: away)
        writes += 1
      }
      // A snapshot is made once the log has grown by as much as the last one has.
      writes += try grow(zone, round, by: writer, &choices)
    }
    if isByPolicy {
      writes += try trimByPolicy(zone, writer, away, &choices)
    } else if try trim(zone, remote, &choices).offset > 1 {
      world.count(.logsTrimmed)
    }
    let new = world.newDevice(like: writer)
    try machines.boot(new)
    try agreement.check(zone, after: "the log was trimmed")
    try agreement.checkWrites(writes, of: "trimmed", in: zone, after: "the log was trimmed")
    for device in [away, new] {
      if let problem = try device.store?.verify().problems.first {
        throw SimulationFailure(.recordsAreFold, "d\(device.number) is not sound: \(problem)")
      }
    }
    // A snapshot may have been damaged before.
    let problems = try executor.wait { try await remote.audit() }.problems
    guard let problem = problems.first(where: { !$0.isAboutSnapshot }) else { return }
    throw SimulationFailure(.noSurprise, "a trimmed remote is not sound: \(problem)")
  }

  private static let day: Int64 = 86_400_000

  /// Lets a device write so much that its next round makes a snapshot.
  ///
  /// - Returns: how many writes of the record there were.
  private func grow(
    _ zone: ZoneID, _ round: Int, by writer: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws -> Int {
    let count = 2 + round * 6
    for number in 0..<count {
      let field = Name("field \(round) \(number % 3)")
      let value = (0..<20).map { _ in "\(choices.next(below: 1 << 30))" }.joined()
      try write(value, to: field, of: "trimmed", in: zone, on: writer)
      try write(value, to: field, of: Name("large \(round) \(number)"), in: zone, on: writer)
    }
    try syncAlone(writer)
    return count
  }

  /// Lets time pass, and a device's rounds trim the log. While a writer has not read the log that wrote lately, the log stays
  /// for it.
  private func trimByPolicy(
    _ zone: ZoneID, _ writer: SimulatedDevice, _ away: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws -> Int {
    world.pass(2 * Self.day)
    var writes = 1
    try write("lately", to: "value", of: "trimmed", in: zone, on: away)
    try syncAlone(away, .ship)
    for round in 2..<4 {
      writes += try grow(zone, round, by: writer, &choices)
      countTrims(by: writer)
    }
    try syncAlone(away)
    if let offset = report(of: zone, away)?.beganAt {
      throw SimulationFailure(
        .roundsMakeProgress,
        "d\(away.number) has written to \(zone) lately, and must begin with the snapshot at offset \(offset)")
    }
    world.pass(2 * Self.day)
    for round in 4..<6 {
      writes += try grow(zone, round, by: writer, &choices)
      countTrims(by: writer)
    }
    return writes
  }

  private func report(of zone: ZoneID, _ device: SimulatedDevice) -> ZoneReport? {
    device.replicators[0].last?.report.zones.first { $0.zone == zone }
  }

  private func countTrims(by device: SimulatedDevice) {
    for zone in device.replicators[0].last?.report.zones ?? [] where zone.trimmedTo != nil {
      world.count(.logsTrimmed)
      note("d\(device.number) lets the log of \(zone.zone) begin at offset \(zone.trimmedTo ?? 0)")
    }
  }

  /// Trims a zone's log, and may be cut short before.
  private func trim(
    _ zone: ZoneID, _ remote: DamagedRemote, _ choices: inout SimulationChoices
  ) throws -> RemoteTrim.Log {
    var stopAfter = choices.next(below: 2) == 0 ? choices.next(below: 20) : .max
    while true {
      let end = stopAfter
      let log = try executor.wait {
        let objects = try await remote.objects()
        let audit = try await RemoteAudit(of: remote, objects: objects)
        let trim = RemoteTrim(remote)
        let policy = LogFloorChoice(now: 0, olderThanMilliseconds: 0)
        guard let log = trim.plan(audit, objects, policy).first(where: { $0.zone == zone }) else {
          throw SimulationFailure(.noSurprise, "the audit does not have \(zone)")
        }
        var left = end
        do {
          try await trim.run(log) {
            left -= 1
            if left <= 0 { throw CancellationError() }
          }
        } catch is CancellationError {}
        return log
      }
      note(
        "\(zone) is trimmed, and begins at offset \(log.offset)" + (stopAfter < .max ? ", and cut short" : "")
      )
      if stopAfter == .max { return log }
      stopAfter = .max
      if choices.next(below: 2) == 0 {
        for device in agreement.devices(with: zone) { try syncAlone(device) }
      }
    }
  }
}
