package import OperationFormat

/// A contribution without its payload: all that its place in the order depends on.
package struct ContributionKey: Hashable, Sendable {
  package var head: Head
  /// The incarnation that its transaction's base names; none if it had seen nothing of a remote log. Of a compacted one the
  /// incarnation that it was compacted in.
  var incarnation: IncarnationNumber
  /// Up to where its transaction had seen that incarnation. Of a compacted one the last place of those that were compacted
  /// with it: whose base reaches that has seen them.
  var baseOffset: UInt64

  init(head: Head, base: BaseNumbers?) {
    self.head = head
    incarnation = base?.incarnation ?? .none
    baseOffset = base?.offset ?? 0
  }

  /// The key of a head, from the payload that it has in its row.
  package init(_ head: Head, payload: RawSpan) throws(FormatError) {
    self.init(head: head, base: try ContributionPayload(payload).base)
  }

  /// Whether its base reaches what is compacted.
  func reaches(_ compacted: ContributionKey) -> Bool {
    incarnation != .none && incarnation == compacted.incarnation && baseOffset >= compacted.baseOffset
  }

  /// Those that are compacted are one lane.
  var lane: ContributionLane {
    head.id.isCompacted
      ? ContributionLane(replica: .none, epoch: 0)
      : ContributionLane(replica: head.id.replica, epoch: head.id.epoch)
  }
}

/// One replica's contributions of one epoch: each of them has seen those before it.
struct ContributionLane: Hashable, Comparable, Sendable {
  var replica: ReplicaNumber
  var epoch: UInt32

  static func < (a: Self, b: Self) -> Bool { (a.replica, a.epoch) < (b.replica, b.epoch) }
}

/// A place in a lane: later ones are greater.
struct LanePlace: Hashable, Comparable, Sendable {
  var sequence: UInt64
  var index: UInt32

  init(_ id: HeadID) { (sequence, index) = (id.sequence, id.index) }

  static func < (a: Self, b: Self) -> Bool { (a.sequence, a.index) < (b.sequence, b.index) }
}

/// The payload of a contribution's head: what its transaction had seen stands before the value, so that the
/// order can be told without the log.
///
/// | bytes | what |
/// |---|---|
/// | 1 | 0 if it had seen nothing of a remote log, else 1 |
/// | varint | number of the base's incarnation; absent after 0 |
/// | varint | the base's offset; absent after 0 |
/// | … | the encoded value |
package struct ContributionPayload: Sendable {
  var base: BaseNumbers?
  /// The range of the value.
  var value: Range<Int>

  init(_ payload: RawSpan) throws(FormatError) {
    var reader = ByteReader(payload)
    switch try reader.readUInt8("contribution") {
    case 0: break
    case 1:
      let incarnation = try reader.readUInt32Varint("contribution.incarnation")
      base = (IncarnationNumber(rawValue: incarnation), try reader.readVarint("contribution.offset"))
    case let tag:
      throw FormatError(.unknownTag, at: 0, in: "contribution", expected: "0 or 1", found: "\(tag)")
    }
    value = reader.position..<reader.end
  }

  /// The value in a payload.
  package static func value(in payload: RawSpan) throws(FormatError) -> Value {
    let value = try ContributionPayload(payload).value
    return try Value(decoding: payload.extracting(value))
  }

  /// Appends what stands before the value.
  static func append(base: BaseNumbers?, to writer: inout ByteWriter) {
    writer.append(base == nil ? 0 : 1)
    guard let base else { return }
    writer.append(varint: UInt64(base.incarnation.rawValue))
    writer.append(varint: base.offset)
  }
}

extension ContributionSight {
  /// Where a contribution is in an incarnation of the log, or the last of those that were compacted with it; 0 if it is not
  /// there.
  func place(of key: ContributionKey, in incarnation: IncarnationNumber) throws -> UInt64 {
    if key.head.id.isCompacted { return key.incarnation == incarnation ? key.baseOffset : 0 }
    return try offset(of: key.head.id, in: incarnation) ?? 0
  }

  /// Whether a contribution has seen another one. A base that claims to reach its transaction's own place reaches what is
  /// before that.
  func hasSeen(_ later: ContributionKey, _ earlier: ContributionKey) throws -> Bool {
    let (id, earlierID) = (later.head.id, earlier.head.id)
    if id.isCompacted { return earlierID.isCompacted && earlierID.index < id.index }
    if earlierID.isCompacted { return later.reaches(earlier) }
    var context = CausalContext(
      zone: .none, replica: id.replica, epoch: id.epoch, sequence: id.sequence,
      base: later.incarnation == .none ? nil : (later.incarnation, later.baseOffset))
    context.lineage = try lineage(of: id.replica, id.epoch)
    return try context.hasSeen(earlierID, at: id.index) { _, _, _, incarnation in
      guard let place = try offset(of: earlierID, in: incarnation) else { return nil }
      guard place <= later.baseOffset, let own = try offset(of: id, in: incarnation) else { return place }
      return place < own ? place : nil
    }
  }
}
