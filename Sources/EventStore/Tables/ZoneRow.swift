import OperationFormat

/// A zone's sync state, and where its records are.
struct ZoneRow: Hashable, Sendable {
  /// An offset in a zone's remote log, and the hash of the entry there.
  struct Token: Hashable, Sendable {
    var incarnation: IncarnationNumber
    var offset: UInt64
    var hash: ContentHash
  }

  /// A snapshot of a zone at its remote.
  struct KnownSnapshot: Hashable, Sendable {
    /// Up to which offset it goes; 0 if none is known.
    var offset: UInt64 = 0
    var byteCount: UInt64 = 0
    /// Up to where its records are compacted; 0 if they are not.
    var floor: UInt64 = 0
    /// How many bytes of transactions the log has before it, about: after the last one that had a higher floor than the one
    /// before.
    var passedBytes: UInt64 = 0

    /// Becomes a later one.
    ///
    /// - Parameter byteCount: of the log in between.
    mutating func note(_ manifest: SnapshotManifest, passing byteCount: UInt64) {
      let known = floor
      (offset, self.byteCount, floor) = (manifest.offset, manifest.byteCount, manifest.floor ?? 0)
      passedBytes = floor > known ? 0 : passedBytes &+ byteCount
    }
  }

  /// The first four are those of `ZoneAttachment`.
  enum Status: UInt8, Sendable {
    case local = 0
    case attached = 1
    case offered = 2
    case deleting = 3
    /// It is gone, and its rows are still to be removed.
    case removed = 4

    /// Whether queries show the zone.
    var isVisible: Bool { self == .local || self == .attached }

    /// Whether the zone was deleted: its name does not lead to it, and it has no state.
    var isGone: Bool { self == .deleting || self == .removed }
  }

  var status: Status
  /// The state of its records; none for a zone that is gone.
  var state: StateNumber
  /// The state that an unfinished rebuild folds into; none if there is no rebuild.
  var building: StateNumber
  /// How far the remote log was folded: the replicator continues there. Nil before the first round.
  var token: Token?
  /// What a new transaction has seen. Within an incarnation it never goes back, even if the token does.
  var base: BaseNumbers? {
    get { baseIncarnation == .none ? nil : (baseIncarnation, baseOffset) }
    set {
      baseIncarnation = newValue?.incarnation ?? .none
      baseOffset = newValue?.offset ?? 0
    }
  }
  private var baseIncarnation = IncarnationNumber.none
  private var baseOffset: UInt64 = 0
  /// How many epochs the store's own lane in the zone is ahead of the store's epoch. The lane takes a new
  /// epoch when the log closed it, or has another branch of it.
  var renewals: UInt32 = 0
  /// How many bytes of transactions the log has after the last snapshot of it that is known, about.
  var logBytes: UInt64 = 0
  /// The last snapshot at the remote that is known.
  var snapshot = KnownSnapshot()
  /// Whether the zone's log is made again at a remote that does not have it, or has closed it. It is so from when the
  /// app attaches a zone that was synced before, until the remote has the log.
  var restoresLog = false

  /// The epoch of the store's own lane.
  func ownEpoch(_ identity: StoreIdentity) -> UInt32 { identity.epoch &+ renewals }

  init(state: StateNumber, status: Status = .local) {
    self.status = status
    self.state = state
    building = .none
  }

  /// Moves token and base to an offset, if it is the token's next one.
  ///
  /// - Returns: whether it was.
  mutating func moveToken(
    to offset: UInt64, _ hash: ContentHash, of incarnation: IncarnationNumber
  ) -> Bool {
    guard offset == (token?.offset ?? 0) + 1 else { return false }
    let isBehind = building != .none && isBaseBehindToken
    token = Token(incarnation: incarnation, offset: offset, hash: hash)
    if !isBehind { raiseBaseToToken() }
    return true
  }

  /// Whether the records are behind the token, and so what a new transaction has seen: they are being folded
  /// again.
  var isBaseBehindToken: Bool {
    guard let token, token.offset > 0 else { return false }
    return base.map { $0.incarnation == token.incarnation && $0.offset < token.offset } ?? true
  }

  /// How many bytes of the log a new snapshot would stand for, about: those after the last one; or if that lacks the floor
  /// that the records have now, those after the last one that a floor has made smaller.
  ///
  /// So floors make no more snapshots than the log's growth does, however many floors there are.
  func snapshotDueBytes(_ floor: CompactionFloor?) -> UInt64 {
    guard let floor, floor.isDone, floor.incarnation == token?.incarnation, floor.offset > snapshot.floor
    else { return logBytes }
    return logBytes &+ snapshot.passedBytes
  }

  /// Notes that a snapshot could not be made: the next one is due when the log has grown as much again.
  mutating func deferSnapshot() { (logBytes, snapshot.passedBytes) = (0, 0) }

  /// Whether the zone has been synced: its log has something that was read or acknowledged.
  var hasReadLog: Bool { token.map { $0.offset > 0 } ?? false }

  /// Makes a synced zone a local one. It keeps what it knows of its log, for the case that it is attached again.
  mutating func detach() {
    status = .local
    restoresLog = false
  }

  mutating func raiseBaseToToken() {
    guard let token, token.offset > 0 else { return }
    if base?.incarnation != token.incarnation || base!.offset < token.offset {
      base = (token.incarnation, token.offset)
    }
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | 1 | status: 0 local, 1 attached, 2 offered, 3 deleting, 4 removed; the top bit is the parity |
  // | varint | state number, 0 for a zone that is gone |
  // | varint | state number of an unfinished rebuild, 0 where there is none |
  // | varint | token's incarnation number, 0 where there is no token |
  // | varint, 32 | token's offset and hash; absent where there is no token |
  // | varint | base's incarnation number, 0 where there is none |
  // | varint | base's offset; absent where there is no base |
  // | varint | epochs that the own lane is ahead of the store's; absent where it is 0, and nothing follows |
  // | varint ×3 | bytes of the log after the last snapshot, that one's offset and bytes; absent where all are 0, and
  //   nothing follows |
  // | 1 | 1: the log is made again at a remote that does not have it; else 0, absent where nothing follows |
  // | varint ×2 | that snapshot's floor, and the bytes of the log before it, after the last one that had a new floor; absent
  //   where both are 0 |

  func append(to writer: inout ByteWriter) {
    writer.append(1)
    writer.append(status.rawValue | Self.parity(status.rawValue))
    writer.append(varint: UInt64(state.rawValue))
    writer.append(varint: UInt64(building.rawValue))
    writer.append(varint: UInt64(token?.incarnation.rawValue ?? 0))
    if let token {
      writer.append(varint: token.offset)
      writer.append(token.hash)
    }
    writer.append(varint: UInt64(baseIncarnation.rawValue))
    if base != nil { writer.append(varint: baseOffset) }
    let counts = [logBytes, snapshot.offset, snapshot.byteCount]
    let isPassed = snapshot.floor > 0 || snapshot.passedBytes > 0
    let hasCounts = restoresLog || isPassed || counts.contains { $0 > 0 }
    if renewals > 0 || hasCounts { writer.append(varint: UInt64(renewals)) }
    if hasCounts { for count in counts { writer.append(varint: count) } }
    if restoresLog || isPassed { writer.append(restoresLog ? 1 : 0) }
    if isPassed {
      writer.append(varint: snapshot.floor)
      writer.append(varint: snapshot.passedBytes)
    }
  }

  /// The parity bit, so that a flipped bit never changes a status.
  private static func parity(_ status: UInt8) -> UInt8 { status.nonzeroBitCount % 2 == 0 ? 0 : 0x80 }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("zone row")
    let byte = try reader.readUInt8("zone.status")
    guard byte.nonzeroBitCount % 2 == 0, let status = Status(rawValue: byte & 0x7f) else {
      throw FormatError(
        .unknownTag, at: 1, in: "zone.status", expected: "0 to 4 with its parity", found: "\(byte)")
    }
    self.status = status
    state = StateNumber(rawValue: try reader.readUInt32Varint("zone.state"))
    building = StateNumber(rawValue: try reader.readUInt32Varint("zone.building"))
    let incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("zone.token"))
    if incarnation != .none {
      let offset = try reader.readVarint("row")
      token = Token(
        incarnation: incarnation, offset: offset, hash: try ContentHash.read(from: &reader, "token.hash"))
    }
    baseIncarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("zone.base"))
    if baseIncarnation != .none { baseOffset = try reader.readVarint("row") }
    if reader.remaining > 0 { renewals = UInt32(try reader.readVarint("row", in: 0...UInt64(UInt32.max))) }
    if reader.remaining > 0 {
      logBytes = try reader.readVarint("zone.logBytes")
      snapshot.offset = try reader.readVarint("zone.snapshot")
      snapshot.byteCount = try reader.readVarint("zone.snapshot")
    }
    if reader.remaining > 0 { restoresLog = try reader.readVarint("zone.restoresLog", in: 0...1) == 1 }
    if reader.remaining > 0 {
      snapshot.floor = try reader.readVarint("zone.snapshot")
      snapshot.passedBytes = try reader.readVarint("zone.snapshot")
    }
    try reader.finish("row")
  }
}
