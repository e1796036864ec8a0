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

  package init(_ end: End) { self.end = end }
}

/// The assets' part of one zone's round: those that a segment names go before it, and those that an eager zone waits
/// for come after all segments.
///
/// It is pure, and a part of ``ZoneRound``.
struct ZoneAssets: Sendable {
  /// More problems of one zone than these are counted, not kept.
  static let problemsMax = 100

  /// Chunks that may still move in the round; nil for any number.
  private var chunksLeft: Int?
  /// Those that the segment at hand waits for, the last one first.
  private var waiting: [AssetReference] = []
  /// Those that need not be looked at again in the round.
  private var settled: Set<AssetReference> = []
  /// The last one that was found wanted.
  private(set) var lastWanted: AssetReference?

  init(chunksMax: Int?) { chunksLeft = chunksMax }

  /// Whether no more may move in the round.
  var isSpent: Bool { chunksLeft.map { $0 <= 0 } ?? false }

  /// What may still move, for an effect.
  var chunksMax: Int? { chunksLeft }

  // MARK: Uploads

  /// Takes up what a segment names.
  mutating func await(_ assets: [AssetReference]) {
    waiting = assets.filter { !settled.contains($0) }.reversed()
  }

  /// The asset that the segment waits for first; nil if it may go.
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

  mutating func didFind(_ asset: AssetReference) { lastWanted = asset }

  /// Takes what came of a download.
  ///
  /// - Returns: whether the round goes on with the next one.
  mutating func didDownload(_ transfer: AssetTransfer, _ report: inout ZoneReport) -> Bool {
    guard let asset = lastWanted else { return false }
    spend(transfer)
    report.assetBytesReceived += transfer.bytes
    switch transfer.end {
    case .whole: if transfer.chunks > 0 || asset.byteCount == 0 { report.receivedAssets += 1 }
    case .elsewhere: break
    case .unfinished, .gone: return false
    case .problem(let kind): report.add(AssetProblem(asset, kind))
    }
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
