import OperationFormat
import StoreTesting

@testable import Replicator

/// A remote of one owner, as it looks to another account: its zones have the owner.
struct ParticipantsRemote: ForwardingRemote {
  let remote: any RemoteLog
  let owner: Name

  private func seen(_ zone: ZoneID) -> ZoneID { ZoneID(owner: owner, name: zone.name) }
  private func own(_ zone: ZoneID) -> ZoneID { ZoneID(name: zone.name) }

  private func seen(_ event: ZoneEvent) -> ZoneEvent {
    var event = event
    event.zone = seen(event.zone)
    return event
  }

  private func own(_ token: ChangeToken) -> ChangeToken {
    var token = token
    token.zone = own(token.zone)
    return token
  }

  func zoneEvents(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    var page = try await remote.zoneEvents(after: token)
    page.events = page.events.map(seen)
    page.later = page.later.map(seen)
    return page
  }

  func createZone(
    _ zone: ZoneID, proposing proposed: IncarnationID
  ) async throws(RemoteError) -> IncarnationID {
    try await remote.createZone(own(zone), proposing: proposed)
  }

  func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try await remote.append(segment, after: own(token))
  }

  func segments(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    try await remote.segments(after: own(token), bytesMax: bytesMax)
  }

  func heads(
    of tokens: [ChangeToken], list: DatabaseToken
  ) async throws(RemoteError) -> RemoteHeads? {
    try await remote.heads(of: tokens.map(own), list: list)
  }
}
