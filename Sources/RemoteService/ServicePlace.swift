internal import OperationFormat
internal import RemoteWire
internal import Replicator
internal import Synchronization

/// A remote that a service serves, and what the service knows of it.
final class ServicePlace: Sendable {
  private struct State {
    var zones: [IncarnationID: ZoneID] = [:]
    var token: DatabaseToken?
  }

  let remote: any RemoteLog
  let bus: HintBus
  private let state = Mutex(State())

  init(_ remote: any RemoteLog) {
    self.remote = remote
    bus = HintBus(remote)
  }

  /// The zone of a log.
  ///
  /// - Throws: `RemoteError` `zoneUnknown`; as `RemoteLog.zoneEvents(after:)`.
  func zone(of incarnation: IncarnationID) async throws(RemoteError) -> ZoneID {
    if let known = state.withLock({ $0.zones[incarnation] }) { return known }
    var token = state.withLock { $0.token }
    while true {
      let page = try await remote.zoneEvents(after: token)
      state.withLock { state in
        for event in page.events + page.later { state.zones[event.incarnation] = event.zone }
        state.token = page.token
      }
      guard page.hasMore, page.token != token else { break }
      token = page.token
    }
    if let found = state.withLock({ $0.zones[incarnation] }) { return found }
    throw RemoteError(
      .zoneUnknown, "there is no log \(incarnation)", hint: "`GET /v1/zones` lists the zones, with their logs"
    )
  }
}
