import EventStore

/// The assets of a zone: those that a segment names go before it, and the others after the log.
extension ZoneRound {
  mutating func findAssets(_ incarnation: IncarnationID) -> ZoneEffect? {
    state.hasUnsentAssets && steps.contains(.ship) && held == nil
      ? findUnsentAsset(incarnation) : findAsset(incarnation)
  }

  /// The assets that a segment names go before it.
  mutating func uploadOrAppend(_ segment: PackedSegment, _ pass: Pass) -> ZoneEffect? {
    guard let asset = assets.next else { return append(segment, pass) }
    if assets.isSpent { return finish(.unfinished) }
    return enter(
      .uploading(pass, segment), .upload(asset, segment.header.incarnation, chunksMax: assets.chunksMax))
  }

  mutating func findUnsentAsset(_ incarnation: IncarnationID) -> ZoneEffect {
    enter(.findingUnsentAsset(incarnation), .findUnsentAsset(after: assets.lastUnsent))
  }

  /// An asset that a segment was shipped without is uploaded once it is here.
  mutating func uploadUnsent(_ asset: AssetReference, _ incarnation: IncarnationID) -> ZoneEffect? {
    // This round may have found it damaged, or sent it with a segment.
    guard assets.awaitUnsent(asset) else { return findUnsentAsset(incarnation) }
    if assets.isSpent { return finish(.unfinished) }
    return enter(
      .uploadingUnsentAsset(incarnation), .upload(asset, incarnation, chunksMax: assets.chunksMax))
  }

  mutating func findAsset(_ incarnation: IncarnationID) -> ZoneEffect? {
    guard state.assetPolicy == .eager, steps.contains(.fetch) else {
      return finish(isLogUnchanged ? .unchanged : .inSync)
    }
    return enter(
      .findingAsset(incarnation),
      .findAsset(after: assets.search.last, namedAfter: assets.search.askedThrough))
  }

  mutating func download(_ asset: AssetReference, _ incarnation: IncarnationID) -> ZoneEffect? {
    // The next round begins with the log.
    if assets.isSpent { return finish(.unfinished) }
    return enter(
      .downloading(incarnation, asset), .download(asset, incarnation, chunksMax: assets.chunksMax))
  }
}
