package import OperationFormat

/// The logs that the events of a list of zones name, in their order. The list is read page by page, and no
/// event is kept.
///
/// If the event of a log's creation was given up or cannot be read, the event of its end names it.
package struct ListedLogs: Sendable {
  package private(set) var logs: [AuditedLog] = []
  /// Where the logs are in ``logs``.
  private var indices: [IncarnationID: Int] = [:]
  /// The only zone whose logs count; nil for all.
  private let zone: ZoneID?
  /// All incarnations that an event names.
  package private(set) var incarnations: Set<IncarnationID> = []

  package init(of zone: ZoneID? = nil) { self.zone = zone }

  /// Adds the next page.
  package mutating func add(_ page: ZoneEventPage) {
    for event in page.events { add(event) }
    for event in page.later { add(event) }
  }

  private mutating func add(_ event: ZoneEvent) {
    guard zone == nil || event.zone == zone else { return }
    incarnations.insert(event.incarnation)
    guard [.created, .reset, .deleted, .purged, .reopened].contains(event.kind) else { return }
    let index = indices[event.incarnation] ?? logs.count
    if index == logs.count {
      logs.append(AuditedLog(zone: event.zone, incarnation: event.incarnation))
      indices[event.incarnation] = index
    }
    switch event.kind {
    case .deleted: logs[index].fate = .deleted
    case .purged: logs[index].fate = .purged
    case .reset: logs[index].fate = .reset
    case .reopened: logs[index].fate = nil
    default: break
    }
  }
}
