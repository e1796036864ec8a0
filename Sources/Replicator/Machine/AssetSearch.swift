import EventStore

/// How far the remote was asked for the assets that an eager zone waits for. A round does not ask again for
/// an asset that the remote did not have: only a newer transaction that names it, or a new search after a
/// while, does.
struct AssetSearch: Hashable, Sendable {
  /// Where the log ended when the remote was asked for all assets that it named; nil: never.
  private(set) var askedThrough: Position?
  /// Where the log ended when the current pass began; nil: there is none.
  var through: Position?
  /// The last one that this pass has handled. A round that ends before the pass does continues after it in
  /// the next.
  var last: AssetReference?
  /// Whether some did not come.
  var hasAbsent = false

  init() {}

  /// Whether the next round continues it. Otherwise a new search begins, which costs nothing if all assets
  /// are here.
  var continues: Bool { hasAbsent || through != nil }

  /// The pass is over: from now on only assets that newer transactions name are asked for.
  mutating func end() {
    askedThrough = through
    (through, last) = (nil, nil)
  }
}

/// The searches of a replicator's zones, and when they begin again.
struct AssetSearches: Sendable {
  /// Those of eager zones of which the remote does not have all.
  private(set) var byZone: [ZoneID: AssetSearch] = [:]
  /// Times in a row that the remote did not have all.
  private var fruitless = 0
  /// Whether a timer runs after which all are asked for again.
  private var isTimed = false
  /// Whether it has fired, or the app has asked for a round, and none has begun since.
  private var isDue = false

  /// The next round asks for all assets again.
  mutating func restart() { isDue = true }

  /// The timer has fired.
  mutating func timerFired() { (isTimed, isDue) = (false, true) }

  /// A round begins.
  mutating func beginRound() {
    if isDue { byZone = [:] }
    isDue = false
  }

  /// A round is over.
  ///
  /// - Returns: how many searches in a row have failed, if a timer is to be set; nil if not.
  mutating func endRound(_ searches: [ZoneID: AssetSearch], hasFailed: Bool, isRunning: Bool) -> Int? {
    byZone = searches.filter { $1.continues }
    if !hasFailed, byZone.isEmpty { fruitless = 0 }
    guard isRunning, !isTimed, !isDue, byZone.values.contains(where: \.hasAbsent) else { return nil }
    isTimed = true
    fruitless += 1
    return fruitless
  }
}
