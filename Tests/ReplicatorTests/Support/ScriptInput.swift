@testable import EventStore
@testable import OperationFormat
@testable import Replicator

/// One input of a ``MachineScript``: words, and values that have a name.
struct ScriptInput {
  private typealias Mistake = MachineScript.Mistake

  /// The zone of the result; nil for an event or a result of the round.
  private(set) var zone: ZoneID?
  private var rest: [String]
  private var values: [String: String] = [:]

  init(_ line: String) throws {
    var words = line.split(separator: " ").map(String.init)
    if let first = words.first, first.hasSuffix(":") {
      zone = ZoneID(name: Name(String(first.dropLast())))
      words.removeFirst()
    }
    rest = words.filter { !$0.contains("=") }
    for word in words where word.contains("=") {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw Mistake(description: "“\(word)” has no value") }
      values[parts[0]] = parts[1]
    }
  }

  var isEmpty: Bool { rest.isEmpty && values.isEmpty }

  /// Throws if some words were not used.
  func end() throws {
    guard isEmpty else { throw Mistake(description: "unknown: \(rest) \(values.keys.sorted())") }
  }

  // MARK: Words

  mutating func word() throws -> String {
    guard !rest.isEmpty else { throw Mistake(description: "a word is missing") }
    return rest.removeFirst()
  }

  mutating func words() -> [String] {
    defer { rest = [] }
    return rest
  }

  /// Whether a word occurs.
  private mutating func flag(_ name: String) -> Bool {
    guard let index = rest.firstIndex(of: name) else { return false }
    rest.remove(at: index)
    return true
  }

  static func number(_ text: String) throws -> UInt64 {
    guard let number = UInt64(text) else { throw Mistake(description: "“\(text)” is no number") }
    return number
  }

  private mutating func value(_ name: String) throws -> UInt64? {
    try values.removeValue(forKey: name).map { try Self.number($0) }
  }

  private mutating func names(_ name: String) -> [ZoneID] {
    let text = values.removeValue(forKey: name) ?? ""
    return text.split(separator: ",").map { ZoneID(name: Name(String($0))) }
  }

  // MARK: The situation

  mutating func policy() throws -> SyncPolicy {
    var policy = SyncPolicy()
    let times: [(String, WritableKeyPath<SyncPolicy, Int64>)] = [
      ("retry", \.retryMilliseconds), ("retryMax", \.retryMillisecondsMax), ("poll", \.pollMilliseconds),
      ("commit", \.commitDelayMilliseconds), ("push", \.pushDelayMilliseconds),
      ("assetRetry", \.assetRetryMilliseconds), ("assetRetryMax", \.assetRetryMillisecondsMax),
    ]
    for (name, path) in times {
      if let time = try value(name) { policy[keyPath: path] = Int64(time) }
    }
    if let chunks = try value("chunks") { policy.assetChunksInRoundMax = Int(chunks) }
    if let count = try value("atOnce") { policy.zonesAtOnceMax = Int(count) }
    return policy
  }

  mutating func zoneState() throws -> ZoneSyncState {
    let zone = ZoneID(name: Name(try word()))
    let kinds: [String: ZoneAttachment] = [
      "local": .local, "attached": .attached, "offered": .offered, "deleting": .deleting,
    ]
    guard let attachment = kinds[try word()] else { throw Mistake(description: "no such attachment") }
    let start = try value("at").map { token($0, zone: zone) }
    var state = ZoneSyncState(
      zone: zone, attachment: attachment, token: start, pending: try value("pending") ?? 0)
    state.isRereading = flag("rereading")
    if flag("eager") { state.assetPolicy = .eager }
    state.hasUnsentAssets = flag("unsent")
    state.hasBrokenOrigin = flag("broken")
    return state
  }

  // MARK: Events and results of a round

  mutating func steps() throws -> SyncSteps {
    guard !rest.isEmpty else { return .all }
    let kinds: [String: SyncSteps] = ["fetch": .fetch, "ship": .ship, "all": .all]
    guard let steps = kinds[try word()] else { throw Mistake(description: "no such steps") }
    return steps
  }

  mutating func hint() throws -> RemoteHint {
    if flag("list") { return .zones }
    if flag("anything") { return .anything }
    let ends = try words().map { try Self.number($0) }
    return .logs(Dictionary(ends.map { (incarnation, $0) }, uniquingKeysWith: max))
  }

  mutating func heads() throws -> RemoteHeads? {
    if flag("none") { return nil }
    let (isClosed, isListUnchanged) = (flag("closed"), flag("list"))
    let ends = try words().map { try Self.number($0) }
    return RemoteHeads(
      zones: ends.map { ZoneHead(incarnation, offset: $0, isClosed: isClosed) },
      isListUnchanged: isListUnchanged)
  }

  mutating func timer() throws -> ReplicatorTimer {
    let name = try word()
    guard let timer = ReplicatorTimer.allCases.first(where: { "\($0)" == name }) else {
      throw Mistake(description: "there is no timer “\(name)”")
    }
    return timer
  }

  mutating func page(after token: DatabaseToken?) throws -> ZoneEventPage {
    let offset = rest.first.flatMap(UInt64.init)
    if offset != nil { rest.removeFirst() }
    let kinds: [(String, ZoneEvent.Kind)] = [
      ("created", .created), ("deleted", .deleted), ("revoked", .revoked),
    ]
    var events: [ZoneEvent] = []
    for (name, kind) in kinds {
      events += names(name).map { ZoneEvent(kind: kind, zone: $0, incarnation: incarnation) }
    }
    let end = offset ?? token?.offset ?? 0
    var page = ZoneEventPage(
      events: events,
      token: DatabaseToken(remote: RemoteID(rawValue: 1), offset: end, hash: hash(end)),
      hasMore: flag("more"))
    page.later = names("later").map { ZoneEvent(kind: .created, zone: $0, incarnation: incarnation) }
    if let problem = try value("problem") {
      page.problems = [ZoneListProblem(offset: problem, failure: Self.failure("damaged"))]
    }
    return page
  }

  mutating func applied() -> ZoneListReport {
    var report = ZoneListReport()
    report.created = names("created")
    report.removed = names("removed")
    return report
  }

  mutating func failure() throws -> SyncFailure {
    let code = try word()
    return Self.failure(
      code, retryAfterMilliseconds: try value("after").map { Int64($0) }, offset: try value("offset"))
  }

  private static func failure(
    _ code: String, retryAfterMilliseconds: Int64? = nil, offset: UInt64? = nil
  ) -> SyncFailure {
    guard code.hasPrefix("store.") else {
      return SyncFailure(
        RemoteError(
          RemoteError.Code(rawValue: code), "planned", hint: "none",
          retryAfterMilliseconds: retryAfterMilliseconds, offset: offset))
    }
    let code = StoreError.Code(rawValue: String(code.dropFirst("store.".count)))
    return SyncFailure(StoreError(code, "planned", hint: "none"))
  }

  // MARK: Results of a zone

  /// Reads a result of a zone:
  ///
  /// - `created`, `adopted`, `deletedMeanwhile`, `deletedAtRemote`, `finishedDeletion`, `mendedOrigin`;
  /// - `putBack 2`, `fetched 2 3 more`, `closed deleted` (or `purged`, `revoked`, `reset`);
  /// - `folded to=3 n=2 segments=1 conflicts=1 rejected=1 removed=1 problem=mismatch offset=4 forked`;
  /// - `prepared`, `prepared 1...2 assets=1,2`;
  /// - `appended 5`, `alreadyThere 5`, `fork 5`, `appendClosed deleted`;
  /// - `acknowledged to=5 rejected=1`;
  /// - `uploaded whole chunks=2`, `downloaded missingAtRemote`, `foundUnsent 1`, `found 1 end=7`;
  /// - `forgotCut`, `withdrawn`, `kept`, `reopened`, `failed denied after=1000 offset=4`.
  mutating func zoneResult(_ zone: ZoneID) throws -> ZoneResult {
    switch try word() {
    case "created": return .created(incarnation)
    case "adopted": return .adopted
    case "deletedMeanwhile": return .deletedMeanwhile(incarnation)
    case "deletedAtRemote": return .deletedAtRemote
    case "finishedDeletion": return .finishedDeletion
    case "mendedOrigin": return .mendedOrigin
    case "fetched":
      let hasMore = flag("more")
      return .fetched(.segments(try words().map { stored(try Self.number($0)) }, hasMore: hasMore))
    case "putBack": return .putBack(Int(try Self.number(try word())))
    case "closed": return .fetched(.gone(try fate()))
    case "folded": return .folded(try folded(zone))
    case "prepared": return try prepared(zone)
    case "appended": return .appended(.appended(try place()))
    case "alreadyThere": return .appended(.alreadyThere(try place()))
    case "fork": return .appended(.fork(try place()))
    case "appendClosed": return .appended(.gone(try fate()))
    case "acknowledged":
      var report = IngestReport()
      report.token = try value("to").map { token($0, zone: zone) }
      report.rejected = Int(try value("rejected") ?? 0)
      return .acknowledged(report)
    case "uploaded": return .uploaded(try transfer())
    case "downloaded": return .downloaded(try transfer())
    case "foundUnsent": return .foundUnsentAsset(try asset())
    case "found":
      return .foundAsset(WantedAsset(try asset(), logEnd: Position(rawValue: try value("end") ?? 7)))
    case "forgotCut": return .forgotCut
    case "withdrawn": return .withdrawn(true)
    case "kept": return .withdrawn(false)
    case "reopened": return .reopened
    case "failed": return .failed(try failure())
    case let word: throw Mistake(description: "a zone has no result “\(word)”")
    }
  }

  private mutating func folded(_ zone: ZoneID) throws -> FoldOutcome {
    guard let end = try value("to") else { throw Mistake(description: "to where?") }
    var outcome = FoldOutcome(token: token(end, zone: zone))
    outcome.report.folded = Int(try value("n") ?? 1)
    outcome.report.conflicts = Int(try value("conflicts") ?? 0)
    outcome.report.rejected = Int(try value("rejected") ?? 0)
    outcome.report.removed = Int(try value("removed") ?? 0)
    outcome.segments = Int(try value("segments") ?? 1)
    outcome.bytes = 3 * outcome.segments
    outcome.isForked = flag("forked")
    let offset = try value("offset")
    outcome.problem = values.removeValue(forKey: "problem").map { Self.failure($0, offset: offset) }
    return outcome
  }

  private mutating func prepared(_ zone: ZoneID) throws -> ZoneResult {
    guard !rest.isEmpty else { return .prepared(nil) }
    let ends = try word().split(separator: ".").map { try Self.number(String($0)) }
    guard ends.count == 2, ends[0] <= ends[1] else { throw Mistake(description: "no sequences") }
    let segment = packed(ends[0]...ends[1], zone: zone)
    guard let named = values.removeValue(forKey: "assets") else { return .prepared(segment) }
    return .prepared(segment, naming: try named.split(separator: ",").map { try Self.asset(String($0)) })
  }

  private mutating func place() throws -> SegmentPlace { SegmentPlace(offset: try Self.number(try word())) }

  private mutating func fate() throws -> ZoneFate {
    let kinds: [String: ZoneFate] = [
      "deleted": .deleted, "purged": .purged, "revoked": .revoked, "reset": .reset,
    ]
    guard let fate = kinds[try word()] else { throw Mistake(description: "no such fate") }
    return fate
  }

  private mutating func asset() throws -> AssetReference? {
    rest.isEmpty ? nil : try Self.asset(try word())
  }

  /// The size of the asset is its number.
  private static func asset(_ text: String) throws -> AssetReference {
    let number = try number(text)
    return AssetReference(hash: hash(number), byteCount: number)
  }

  private mutating func transfer() throws -> AssetTransfer {
    let ends: [String: AssetTransfer.End] = [
      "whole": .whole, "unfinished": .unfinished, "elsewhere": .elsewhere, "gone": .gone,
      "missingHere": .problem(.missingHere), "damagedHere": .problem(.damagedHere),
      "missingAtRemote": .problem(.missingAtRemote), "damagedAtRemote": .problem(.damagedAtRemote),
    ]
    guard let end = ends[try word()] else { throw Mistake(description: "no such end") }
    var transfer = AssetTransfer(end)
    transfer.chunks = Int(try value("chunks") ?? 0)
    transfer.bytes = UInt64(transfer.chunks) * 10
    return transfer
  }
}
