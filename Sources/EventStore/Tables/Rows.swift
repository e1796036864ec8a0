import OperationFormat

/// A zone's sync state, and where its records are.
struct ZoneRow: Hashable, Sendable {
  /// An offset in a zone's remote log, and the hash of the entry there.
  struct Token: Hashable, Sendable {
    var incarnation: IncarnationNumber
    var offset: UInt64
    var hash: ContentHash
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
  // | varint | epochs that the own lane is ahead of the store's; absent where it is 0 |

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
    if renewals > 0 { writer.append(varint: UInt64(renewals)) }
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
    if reader.remaining > 0 { renewals = UInt32(try reader.readVarint("row", in: 1...UInt64(UInt32.max))) }
    try reader.finish("row")
  }
}

/// A deleted log of a zone, deleted here or at the remote.
struct GoneLog: Hashable, Sendable {
  /// Whether it was deleted here while the remote did not have it. If the remote has it again, the replicator
  /// tells it.
  var isUntold: Bool

  /// The row of an untold deletion. Any other row is empty.
  static let untold: UInt8 = 1

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    isUntold = reader.remaining > 0
    if isUntold, case let byte = try reader.readUInt8("goneLog"), byte != Self.untold {
      throw FormatError(
        .unknownTag, at: 0, in: "goneLog", expected: "nothing, or \(Self.untold)", found: "\(byte)")
    }
    try reader.finish("goneLog")
  }
}

/// What the store keeps of a segment of a remote log that it folded or shipped.
struct SegmentRow: Hashable, Sendable {
  var replica: ReplicaNumber
  var epoch: UInt32
  var first: UInt64
  var last: UInt64
  var hash: ContentHash
  /// When the remote first received it, in milliseconds since 1970; nil if the remote keeps no such times.
  var receivedMilliseconds: UInt64?
  /// Why every replica rejects it; nil for a folded segment. A rejected segment places no transactions.
  var rejection: SegmentRejection?

  init(
    replica: ReplicaNumber, epoch: UInt32, first: UInt64, last: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, rejection: SegmentRejection? = nil
  ) {
    self.replica = replica
    self.epoch = epoch
    self.first = first
    self.last = last
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.rejection = rejection
  }

  /// The row of an entry that was given up: it has no replica and no sequences.
  ///
  /// - Parameter hash: the hash of its tombstone.
  static func quarantined(_ hash: ContentHash) -> SegmentRow {
    SegmentRow(
      replica: ReplicaNumber(rawValue: 0), epoch: 0, first: 0, last: 0, hash: hash, receivedMilliseconds: nil)
  }

  /// Whether the entry was given up. A segment's sequences count from 1.
  var isQuarantined: Bool { first == 0 }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | varint ×4 | replica's number, epoch, first and last sequence; all 0 for an entry that was given up |
  // | 32 | content hash |
  // | varint | receive time + 1 in milliseconds since 1970, 0 where there is none |
  // | 1 | why it was rejected: `SegmentRejection`; absent where it was folded |

  func append(to writer: inout ByteWriter) {
    writer.append(1)
    writer.append(varint: UInt64(replica.rawValue))
    writer.append(varint: UInt64(epoch))
    writer.append(varint: first)
    writer.append(varint: last)
    writer.append(hash)
    writer.append(varint: receivedMilliseconds.map { $0 &+ 1 } ?? 0)
    if let rejection { writer.append(rejection.rawValue) }
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("segment row")
    replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("segment.replica"))
    epoch = try reader.readUInt32Varint("segment.epoch")
    first = try reader.readVarint("row")
    last = try reader.readVarint("row")
    hash = try ContentHash.read(from: &reader, "token.hash")
    let received = try reader.readVarint("row")
    receivedMilliseconds = received == 0 ? nil : received - 1
    if reader.remaining > 0 {
      let byte = try reader.readUInt8("segment.rejection")
      guard let reason = SegmentRejection(rawValue: byte) else {
        throw FormatError(
          .unknownTag, at: reader.position - 1, in: "segment.rejection", expected: "1 to 8", found: "\(byte)")
      }
      rejection = reason
    }
    try reader.finish("row")
  }
}

/// The row of a state: the result of one fold of a zone.
struct StateRow: Hashable, Sendable {
  enum Status: UInt8, Sendable {
    case live = 0
    /// A rebuild folds into it.
    case building = 1
    /// Replaced: its rows are removed in steps.
    case discarded = 2
  }

  var zone: ZoneNumber
  var status: Status
  /// The last record number given out.
  var lastRecord: UInt32
  /// How often a contribution got another timestamp. Each time, the order of contributions may have changed.
  var retimings: UInt64 = 0

  init(zone: ZoneNumber, status: Status, lastRecord: UInt32 = 0) {
    self.zone = zone
    self.status = status
    self.lastRecord = lastRecord
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | varint | zone's number |
  // | 1 | status: 0 live, 1 building, 2 discarded |
  // | varint | last record number given out |
  // | varint | how often a contribution got another timestamp; absent where none ever did |

  func append(to writer: inout ByteWriter) {
    writer.append(1)
    writer.append(varint: UInt64(zone.rawValue))
    writer.append(status.rawValue)
    writer.append(varint: UInt64(lastRecord))
    if retimings > 0 { writer.append(varint: retimings) }
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("state row")
    zone = ZoneNumber(rawValue: try reader.readUInt32Varint("state.zone"))
    let byte = try reader.readUInt8("row")
    guard let status = Status(rawValue: byte) else {
      throw FormatError(
        .unknownTag, at: 2, in: "state.status", expected: "0 to 2", found: "\(byte)")
    }
    self.status = status
    lastRecord = try reader.readUInt32Varint("state.lastRecord")
    if reader.remaining > 0 { retimings = try reader.readVarint("state.retimings", in: 1 ... .max) }
    try reader.finish("row")
  }
}

extension ByteWriter {
  mutating func append(_ hash: ContentHash) { hash.write(to: &self) }
}
