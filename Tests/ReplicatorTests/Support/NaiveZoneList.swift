import OperationFormat

@testable import Replicator

/// A list of zones that keeps each event, and applies all of them again for each answer: the oracle of
/// ``ZoneList``.
struct NaiveZoneList {
  struct Log: Equatable {
    var zone: ZoneID
    var fate: ZoneFate?
  }

  struct State: Equatable {
    var open: [ZoneID: IncarnationID] = [:]
    var logs: [IncarnationID: Log] = [:]
    var hasGaps = false
    /// Whether each event counts.
    var counts: [Bool] = []
  }

  /// What was found at each offset from 1.
  var found: [FoundZoneEvent] = []

  var unreadable: [UInt64] {
    found.indices.filter { if case .unreadable = found[$0] { true } else { false } }.map { UInt64($0) + 1 }
  }

  /// The events that count after an offset.
  func events(after offset: UInt64) -> [ZoneEvent] {
    let counts = state.counts
    return found.indices.dropFirst(Int(offset)).compactMap { counts[$0] ? found[$0].event : nil }
  }

  var state: State {
    var state = State()
    for found in found {
      guard let event = found.event else {
        state.hasGaps = true
        state.counts.append(false)
        continue
      }
      state.counts.append(Self.apply(event, to: &state))
    }
    return state
  }

  private static func apply(_ event: ZoneEvent, to state: inout State) -> Bool {
    switch event.kind {
    case .created:
      guard state.open[event.zone] == nil, state.logs[event.incarnation] == nil else { return false }
    case .deleted, .purged, .reset:
      if state.logs[event.incarnation] == nil, state.hasGaps {
        state.logs[event.incarnation] = Log(zone: event.zone)
      }
      guard let log = state.logs[event.incarnation], log.zone == event.zone, log.fate == nil else {
        return false
      }
      let fates: [ZoneEvent.Kind: ZoneFate] = [.deleted: .deleted, .purged: .purged, .reset: .reset]
      state.logs[event.incarnation]?.fate = fates[event.kind]
      if state.open[event.zone] == event.incarnation { state.open[event.zone] = nil }
      return true
    case .reopened:
      guard state.open[event.zone] == nil else { return false }
      if let log = state.logs[event.incarnation] {
        guard log.zone == event.zone, log.fate != nil else { return false }
      } else if !state.hasGaps {
        return false
      }
    default: return false
    }
    state.open[event.zone] = event.incarnation
    state.logs[event.incarnation] = Log(zone: event.zone)
    return true
  }
}
