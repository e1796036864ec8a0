import EventStore
import Replicator

/// Checks the receive times that entries state: invariant 24.
///
/// An entry states the remote's clock if that can be believed, by a rule that is applied here to the whole log before it,
/// with the two clocks as they were when it was written. So a remote whose clock alone is wrong lowers no timestamp, and a
/// device in 2099 is capped once another one has shown that its clock and the remote's agree.
struct ReceiveTimeChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Checks what is new in the logs.
  func check() throws {
    // A remote of the app's own has a clock of its own.
    guard options.makeRemote == nil else { return }
    for life in facts.lives {
      for index in life.entriesTimed..<life.segments.count { try check(index, in: life) }
      life.entriesTimed = life.segments.count
    }
  }

  private func check(_ index: Int, in life: ZoneFacts) throws {
    let entry = life.segments[index].entry
    let place = "the segment at offset \(index + 1) of \(life.zone)"
    guard configuration.place != .server, configuration.remoteClockOffset != nil else {
      guard (entry.received != nil) == (configuration.remoteClockOffset != nil) else {
        throw SimulationFailure(
          .receiveTimesAreBelieved, "\(place) was received at \(entry.received.map { "\($0)" } ?? "no time")")
      }
      return
    }
    let receipt = self.place.receipt(of: .entry(of: life.incarnation!, UInt64(index) + 1))
    // What no device has appended.
    guard let receipt else { return }
    let expected = NaiveReceiveTime.stated(
      by: entry.replica, newest: entry.newest, wall: receipt.wall, place: receipt.place,
      after: life.segments[..<index].map(\.entry))
    if expected == entry.received { return }
    // Its writer may have read an entry before it that was damaged on its way.
    if entry.received == nil, configuration.has(.bodyCut) || configuration.has(.bodyFlipped) { return }
    throw SimulationFailure(
      .receiveTimesAreBelieved,
      "\(place) states the receive time \(entry.received.map { "\($0)" } ?? "none"), expected "
        + "\(expected.map { "\($0)" } ?? "none"): its newest change is of \(entry.newest), its writer's clock showed "
        + "\(receipt.wall), and the remote's \(receipt.place)")
  }
}
