import EventStore

/// The assets' part of one zone's round. Those that a segment names are uploaded before it. After all
/// segments, those that earlier segments were shipped without are uploaded, and those that an eager zone
/// waits for are downloaded.
///
/// It is pure, and a part of ``ZoneRound``.
struct ZoneAssets: Sendable {
  /// The most problems of one zone that are kept. More are only counted.
  static let problemsMax = 100
  /// The most wanted assets that the remote may lack before the zone's part of a round ends: each takes
  /// calls, and all zones wait for them.
  static let absentMax = 64

  /// Chunks that may still move in the round; nil for any number.
  private var chunksLeft: Int?
  /// Those that the current segment waits for, the last one first.
  private var waiting: [AssetReference] = []
  /// Those that are done in this round.
  private var settled: Set<AssetReference> = []
  /// The last one that was found unsent.
  private(set) var lastUnsent: AssetReference?
  /// How far the remote was asked for those that are not here.
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

  /// Queues what a segment names.
  mutating func wait(for assets: [AssetReference]) {
    waiting = assets.filter { !settled.contains($0) }.reversed()
  }

  /// Queues an asset that an earlier segment was shipped without.
  ///
  /// - Returns: whether it is to be uploaded; false if this round is done with it.
  mutating func awaitUnsent(_ asset: AssetReference) -> Bool {
    lastUnsent = asset
    wait(for: [asset])
    return next != nil
  }

  /// The next asset to upload; nil if there is none.
  var next: AssetReference? { waiting.last }

  /// Takes the result of uploading ``next``.
  ///
  /// - Returns: whether the round continues.
  mutating func didUpload(_ transfer: AssetTransfer, _ report: inout ZoneReport) -> Bool {
    let asset = waiting.removeLast()
    spend(transfer)
    report.assetBytesSent += transfer.bytes
    switch transfer.end {
    case .whole:
      if transfer.chunks > 0 { report.sentAssets += 1 }
      settled.insert(asset)
    case .unfinished, .elsewhere:
      waiting = []
      return false
    // The append finds the closed log, and its outcome decides.
    case .gone: waiting = []
    case .problem(let kind):
      report.add(AssetProblem(asset, kind))
      settled.insert(asset)
    }
    return true
  }

  // MARK: Downloads

  /// Takes the next wanted asset.
  ///
  /// - Returns: the asset to download; nil if there are no more.
  mutating func didFind(_ wanted: WantedAsset) -> AssetReference? {
    search.through = search.through ?? wanted.logEnd
    if wanted.reference == nil { search.end() }
    return wanted.reference
  }

  /// Takes the result of a download.
  ///
  /// - Returns: whether the round continues with the next one.
  mutating func didDownload(
    _ asset: AssetReference, _ transfer: AssetTransfer, _ report: inout ZoneReport
  ) -> Bool {
    spend(transfer)
    report.assetBytesReceived += transfer.bytes
    switch transfer.end {
    case .whole: if transfer.chunks > 0 || asset.byteCount == 0 { report.receivedAssets += 1 }
    // The other task or process finishes it, or gives up.
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
