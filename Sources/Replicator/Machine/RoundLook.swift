import EventStore

/// Which zones a round looks at, besides those that have something to do here: what hints have told since the
/// round before.
struct RoundLook: Hashable, Sendable {
  /// The most logs that hints name. If there are more, every zone is asked for.
  static let logsMax = 4096

  /// Whether every zone and the list of zones are asked for, whatever hints and heads say.
  private(set) var isThorough = false
  /// Whether the list of zones has changed.
  private(set) var hasListChanged = false
  /// Logs, and up to where they have entries.
  private(set) var logs: [IncarnationID: UInt64] = [:]

  static let thorough: RoundLook = {
    var look = RoundLook()
    look.beThorough()
    return look
  }()

  init() {}

  mutating func beThorough() { (isThorough, logs) = (true, [:]) }

  mutating func add(_ hint: RemoteHint) {
    switch hint {
    case .logs(let named): add(named)
    case .zones: hasListChanged = true
    case .anything: beThorough()
    }
  }

  /// Adds what a round that failed was to look at.
  mutating func add(_ other: RoundLook) {
    if other.isThorough { beThorough() }
    if other.hasListChanged { hasListChanged = true }
    add(other.logs)
  }

  private mutating func add(_ named: [IncarnationID: UInt64]) {
    guard !isThorough else { return }
    guard logs.count + named.count <= Self.logsMax else { return beThorough() }
    logs.merge(named) { max($0, $1) }
  }

  /// Whether a hint says that a log has more than a token.
  func names(more token: ChangeToken) -> Bool { logs[token.incarnation].map { $0 > token.offset } ?? false }
}

/// The answers of a remote about the ends of logs, as far as a round believes them.
struct KnownHeads: Hashable, Sendable {
  private enum Head: Hashable, Sendable {
    case open(UInt64)
    /// It is closed, or there were two answers.
    case unclear
  }

  /// Whether the list of zones has nothing new.
  private(set) var isListUnchanged = false
  private var heads: [IncarnationID: Head] = [:]

  init() {}

  /// Adds an answer. What was not asked for is ignored.
  mutating func add(_ answer: RemoteHeads, to asked: ArraySlice<ChangeToken>) {
    isListUnchanged = answer.isListUnchanged
    let asked = Set(asked.lazy.map(\.incarnation))
    for head in answer.zones where asked.contains(head.incarnation) {
      let found = head.isClosed ? Head.unclear : .open(head.offset)
      heads[head.incarnation] = heads[head.incarnation].map { $0 == found ? found : .unclear } ?? found
    }
  }

  /// Whether a log ends at a token, as far as the remote knows. A head before the token is no such answer: it
  /// is late, or the remote went back.
  func ends(at token: ChangeToken) -> Bool { heads[token.incarnation] == .open(token.offset) }
}
