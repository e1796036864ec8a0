import EventStore
import OperationFormat
import Replicator

/// The remote's operator removes the old part of a zone's log, for which snapshots stand. A device was away meanwhile,
/// and has written: it begins with a snapshot, and sends what it has. A new one does too. All end equal.
struct TrimmedRemote: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let remote = DamagedRemote(place), let (writer, zone) = pickWriter() else { return }
    let others = agreement.devices(with: zone).filter { $0 !== writer && $0.configuration.role == .writer }
    guard let away = others.last else { return }
    begin(.remoteTrimmed)
    let machines = SimulatedMachines(world)
    writer.snapshotBytesMin = 1
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
      for number in 0..<(2 + round * 6) {
        let field = Name("field \(round) \(number % 3)")
        let value = (0..<20).map { _ in "\(choices.next(below: 1 << 30))" }.joined()
        try write(value, to: field, of: "trimmed", in: zone, on: writer)
        try write(value, to: field, of: Name("large \(round) \(number)"), in: zone, on: writer)
        writes += 1
      }
      try syncAlone(writer)
    }
    let log = try trim(zone, remote, &choices)
    if log.offset > 1 { world.count(.logsTrimmed) }
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
        let policy = RemoteTrim.Policy(now: 0, olderThanMilliseconds: 0)
        guard let log = try await trim.plan(audit, objects, policy).first(where: { $0.zone == zone }) else {
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
