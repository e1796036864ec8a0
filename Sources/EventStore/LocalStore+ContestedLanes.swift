package import OperationFormat

extension LocalStore {
  /// Remembers that the log has another branch of a lane that this store imported and is to ship. Its user decides what
  /// becomes of it here: ``settleClosedLanes(of:_:)``.
  ///
  /// - Parameter segment: the log's branch.
  /// - Returns: what to tell the user; nil if the store ships no such lane.
  package func contestLane(of zone: ZoneID, by segment: RemoteSegment) async throws -> StoreError? {
    let known = Shared<StoreError?>(nil)
    let contested = try await performIfChanged {
      try LaneSettlement($0).contestLane(of: zone, by: segment, known)
    }
    return contested ?? known.value
  }
}
