import EventStore

/// What an app decides about zones: in which order they are synced, and what becomes of one whose log ends.
package struct ZoneRules: Sendable {
  /// What becomes of a zone whose log at the remote has ended.
  var answer: @Sendable (ZoneID, ZoneFate) -> ZoneEndAnswer = { $1.standardAnswer }
  /// Zones with a greater number come first.
  var priority: @Sendable (ZoneID) -> Int = { _ in 0 }

  package init() {}

  /// Zones in the order in which they are synced. Those of one priority stay as they are.
  func ordered(_ zones: [ZoneSyncState]) -> [ZoneSyncState] {
    zones.enumerated().map { (priority: priority($1.zone), index: $0, state: $1) }
      .sorted { a, b in a.priority == b.priority ? a.index < b.index : a.priority > b.priority }
      .map(\.state)
  }

  /// The answers to the events of a list's page that end logs.
  func answers(to page: ZoneEventPage) -> [IncarnationID: ZoneEndAnswer] {
    var answers: [IncarnationID: ZoneEndAnswer] = [:]
    for event in page.events + page.later {
      switch event.kind {
      case .deleted: answers[event.incarnation] = answer(event.zone, .deleted)
      case .revoked: answers[event.incarnation] = answer(event.zone, .revoked)
      default: break
      }
    }
    return answers
  }
}
