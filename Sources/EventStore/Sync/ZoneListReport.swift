package import OperationFormat

/// What a remote's list of zones has changed in a store, in the order of its events.
package struct ZoneListReport: Hashable, Sendable {
  /// Zones that the store did not have.
  package var created: [ZoneID] = []
  /// Zones that are gone from the store, since they were deleted at the remote.
  package var removed: [ZoneID] = []
  /// Zones that were deleted at the remote and are kept, since they have what was never shipped.
  var kept: [ZoneID] = []

  init() {}
}
