import EventStore
import OperationFormat

/// Checks each transaction that comes into a store's log: invariants 1, 6 to 10 and 12, and that the zones of
/// one write have one timestamp.
enum LogChecker {
  /// Checks what is new in a log.
  ///
  /// - Parameters:
  ///   - view: what the store is known to have; updated.
  ///   - wall: what the device's wall clock shows.
  static func check(
    _ transaction: borrowing ReadTransaction, _ view: inout DeviceView, _ device: SimulatedDevice,
    wall: Int64
  ) throws {
    let last = try transaction.lastPosition()
    if last < view.last {
      throw SimulationFailure(.acknowledgedIsInLog, "d\(device.number)'s log went back to \(last)")
    }
    while view.last < last {
      view.last = view.last.next
      try check(view.last, transaction, &view, wall: wall)
    }
  }

  private static func check(
    _ position: Position, _ transaction: borrowing ReadTransaction, _ view: inout DeviceView, wall: Int64
  ) throws {
    guard let made = try transaction.transactionIfThere(at: position) else { return }
    guard let zone = view.zone(made.zone), let identity = view.identity else {
      throw SimulationFailure(.noSurprise, "position \(position) is in a zone that is not there")
    }
    let bytes = try transaction.bytes(at: position)
    view.loggedBytes += bytes.count
    if made.replica == identity.replica, made.epoch == identity.epoch {
      try checkOwn(made, zone, &view, wall: wall)
      let number = try zone.facts.add(made, bytes: bytes)
      zone.unacknowledged.append(number)
      view.logged.append(made.operations.count)
      return zone.fold(number)
    }
    guard let number = zone.facts.model.number(of: made.id) else {
      throw SimulationFailure(.sequencesAreGapless, "\(made.id) of \(made.zone) was made by nobody")
    }
    if zone.has(number) {
      throw SimulationFailure(.countedOnce, "\(made.id) of \(made.zone) is in the log twice")
    }
    guard zone.facts.bytes[number] == bytes else {
      throw SimulationFailure(.unknownIsKept, "\(made.id) of \(made.zone) has other bytes than its maker's")
    }
    let place = zone.facts.model.place(of: number)
    guard let place, place <= UInt64(zone.offset) else {
      throw SimulationFailure(
        .tokenIsNotAhead,
        "\(made.id) of \(made.zone) is at offset \(place ?? 0) and was folded with a token of \(zone.offset)")
    }
    view.clock.observe(made.timestamp, wallMilliseconds: wall)
    zone.fold(number, at: Int(place))
  }

  private static func checkOwn(
    _ made: LogTransaction, _ zone: DeviceZone, _ view: inout DeviceView, wall: Int64
  ) throws {
    guard made.sequence == zone.ownSequence + 1 else {
      throw SimulationFailure(
        .sequencesAreGapless, "sequence \(made.sequence) of \(made.zone) was made after \(zone.ownSequence)")
    }
    zone.ownSequence = made.sequence
    let base = Int(made.base?.offset ?? 0)
    guard base == zone.shown, made.base.map({ $0.incarnation == zone.facts.incarnation }) ?? true else {
      throw SimulationFailure(
        .successorWins, "\(made.id) of \(made.zone) has base \(base), and \(zone.shown) was folded")
    }
    // What takes a write back has the time of what it brings back.
    if let label = made.label, ["Undo", "Redo"].contains(where: label.hasPrefix) {
      if zone.facts.model.transactions.contains(where: { $0.timestamp >= made.timestamp }) { return }
      throw SimulationFailure(
        .clockIsBounded, "an undo has the timestamp \(made.timestamp): nothing is as late")
    }
    // All zones of one write have one timestamp.
    defer { view.lastWriteID = made.writeID }
    if made.writeID != nil, made.writeID == view.lastWriteID {
      guard made.timestamp.rawValue != view.clock.last else { return }
      throw SimulationFailure(
        .transactionsAreAtomic, "\(made.id) of \(made.zone) has another timestamp than the rest of its write")
    }
    do {
      try view.clock.check(made.timestamp, wallMilliseconds: wall)
    } catch {
      throw SimulationFailure(
        .clockIsBounded, "a write has the timestamp \(error.found); expected \(error.expected)")
    }
  }
}
