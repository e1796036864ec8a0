// Stands in until the store has its half.
package import OperationFormat

package struct ZoneListReport: Hashable, Sendable {
  package var created: [ZoneID] = []
  package var removed: [ZoneID] = []
  package var kept: [ZoneID] = []
}
package final class CommitObservation: Sendable { package func cancel() {} }
extension LocalStore {
  package func syncState() throws -> StoreSyncState { fatalError() }
  package func applyZoneEvents(_ e: [ZoneEvent], token: DatabaseToken, chosen: Set<ZoneID>?) async throws
    -> ZoneListReport
  { fatalError() }
  package func adopt(_ zone: ZoneID, _ incarnation: IncarnationID) async throws {}
  package func withdraw(_ zone: ZoneID, _ incarnation: IncarnationID) async throws -> Bool { false }
  package func finishDeletion(of zone: ZoneID, _ incarnation: IncarnationID) async throws {}
  package func nextCut(of zone: ZoneID) throws -> SegmentCut? { nil }
  package func storeCut(_ header: SegmentHeader) async throws -> SegmentHeader { header }
  package func reclaim() async throws -> Bool { false }
  package func onCommit(_ handler: @escaping @Sendable () -> Void) -> CommitObservation {
    CommitObservation()
  }
  package var lastCommitID: UInt64 { get throws { 0 } }
}
extension FoldReport {
  package var conflicts: Int {
    get { 0 }
    set {}
  }
  package var token: ChangeToken? { nil }
}
extension RemoteSegment {
  package init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, transactions: [[UInt8]], base: UInt64, baseHash: ContentHash,
    previousHash: ContentHash
  ) { fatalError() }
}
