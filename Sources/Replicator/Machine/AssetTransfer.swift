import EventStore

/// What came of moving an asset, or a part of it.
package struct AssetTransfer: Hashable, Sendable {
  package enum End: Hashable, Sendable {
    /// It is where it should be.
    case whole
    /// It goes on in another round.
    case unfinished
    /// Another task or process moves it.
    case elsewhere
    /// The zone's log is closed.
    case gone
    /// It does not move.
    case problem(AssetProblem.Kind)
  }

  package var end: End
  /// Bytes that moved.
  package var bytes: UInt64 = 0
  /// Chunks that moved.
  package var chunks = 0
  /// Whether the destination had all of it before.
  package var wasThere = false

  package init(_ end: End) { self.end = end }
}

/// The assets' part of one zone's round: those that a segment names go before it. After all segments go those that
/// earlier ones were shipped without, and those come that an eager zone waits for.
///
/// It is pure, and a part of ``ZoneRound``.
struct ZoneAssets: Sendable {
  /// More problems of one zone than these are counted, not kept.
  static let problemsMax = 100
  /// So many wanted assets that do not come end the zone's part of a round: each takes calls, and all zones wait for them.
  static let absentMax = 64

  /// Chunks that may still move in the round; nil for any number.
  private var chunksLeft: Int?
  /// Those that the segment at hand waits for, the last one first.
  private var waiting: [AssetReference] = []
  /// Those that need not be looked at again in the round.
  private var settled: Set<AssetReference> = []
  /// The last one that was found unsent.
  private(set) var lastUnsent: AssetReference?
  /// How far those were looked for that are not here.
  private(set) var search: AssetSearch
  /// Wanted assets that did not come.
  private var absentCount = 0

  init(chunksMax: Int?, search: AssetSearch) {
    chunksLeft = chunksMax
    self.search = search
  }

  /// Whether no more may move in the round.
  var isSpent: Bool { chunksLeft.map { $0 <= 0 || absentCount >= Self.absentMax } ?? false }

  /// What may still move, for an effect.
  var chunksMax: Int? { chunksLeft }

  // MARK: Uploads

  /// Takes up what a segment names.
  mutating func wait(for assets: [AssetReference]) {
    waiting = assets.filter { !settled.contains($0) }.reversed()
  }

  /// Takes up an asset that an earlier segment was shipped without.
  ///
  /// - Returns: whether it need be looked at.
  mutating func awaitUnsent(_ asset: AssetReference) -> Bool {
    lastUnsent = asset
    wait(for: [asset])
    return next != nil
  }

  /// The asset that is to be uploaded first; nil if there is none.
  var next: AssetReference? { waiting.last }

  /// Takes what came of an upload.
  ///
  /// - Returns: whether the round goes on.
  mutating func didUpload(_ transfer: AssetTransfer, _ report: inout ZoneReport) -> Bool {
    guard let asset = waiting.popLast() else { return false }
    spend(transfer)
    report.assetBytesSent += transfer.bytes
    switch transfer.end {
    case .whole:
      if transfer.chunks > 0 { report.sentAssets += 1 }
      settled.insert(asset)
    case .unfinished, .elsewhere:
      waiting = []
      return false
    // The append says what is to be done.
    case .gone: waiting = []
    case .problem(let kind):
      report.add(AssetProblem(asset, kind))
      settled.insert(asset)
    }
    return true
  }

  // MARK: Downloads

  /// Takes what was found wanted.
  ///
  /// - Returns: what is to be downloaded; nil if all was looked for.
  mutating func didFind(_ wanted: WantedAsset) -> AssetReference? {
    search.through = search.through ?? wanted.logEnd
    if wanted.reference == nil { search.end() }
    return wanted.reference
  }

  /// Takes what came of a download.
  ///
  /// - Returns: whether the round goes on with the next one.
  mutating func didDownload(
    _ asset: AssetReference, _ transfer: AssetTransfer, _ report: inout ZoneReport
  ) -> Bool {
    spend(transfer)
    report.assetBytesReceived += transfer.bytes
    switch transfer.end {
    case .whole: if transfer.chunks > 0 || asset.byteCount == 0 { report.receivedAssets += 1 }
    // It comes, or who downloads it gives up.
    case .elsewhere: search.hasAbsent = true
    case .unfinished, .gone: return false
    case .problem(let kind):
      report.add(AssetProblem(asset, kind))
      search.hasAbsent = true
      absentCount += 1
    }
    search.last = asset
    return true
  }

  private mutating func spend(_ transfer: AssetTransfer) {
    if let left = chunksLeft { chunksLeft = left - transfer.chunks }
  }
}

extension ZoneReport {
  fileprivate mutating func add(_ problem: AssetProblem) {
    assetProblemCount += 1
    if assetProblems.count < ZoneAssets.problemsMax { assetProblems.append(problem) }
  }
}
