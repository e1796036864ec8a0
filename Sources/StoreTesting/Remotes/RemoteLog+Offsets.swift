package import EventStore
package import Replicator

extension RemoteLog {
  /// Appends a segment after an offset whose entry the caller does not know.
  ///
  /// - Parameter zone: the zone; nil for the one that the header names, of this store's user.
  package func append(
    _ segment: PackedSegment, after offset: UInt64, in zone: ZoneID? = nil
  ) async throws(RemoteError) -> AppendOutcome {
    var token = ChangeToken.start(of: zone ?? segment.header.zone, segment.header.incarnation)
    if offset > 0 { (token.offset, token.chain) = (offset, nil) }
    return try await append(segment, after: token)
  }
}

extension AppendOutcome {
  /// The same with no more of its place than the offset.
  package var withOffsetOnly: AppendOutcome {
    func bare(_ place: SegmentPlace) -> SegmentPlace { SegmentPlace(offset: place.offset) }
    return switch self {
    case .appended(let place): .appended(bare(place))
    case .alreadyThere(let place): .alreadyThere(bare(place))
    case .fork(let place): .fork(bare(place))
    case .overlaps(let place): .overlaps(bare(place))
    case .gone: self
    }
  }
}
