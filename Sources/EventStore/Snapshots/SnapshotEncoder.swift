import OperationFormat

// The content of a snapshot: lanes, entries, records, and 0 at the end.
//
// *Lanes* are those that have an entry in the log up to the offset, ascending by replica and epoch. Later a lane is named
// by its index among them:
//
// | bytes | what |
// |---|---|
// | varint | their count |
// | 16 | of each: replica, big-endian |
// | varint ×3 | epoch; last sequence in the log, 0 for none; offset that closed the lane, 0 for none |
// | 8 | timestamp of the last transaction, little-endian; 0 for none |
// | varint | parent: index of its lane + 1, 0 for none; then the parent's sequence, a varint |
// | varint | count of the sequences from which on the base is another |
// | varint ×2 | of each: sequence, less the one before; offset of the base, 0 for none in this incarnation |
//
// *Entries* are those that the log has up to the offset. In a manifest of version 3, of those at or below the floor only three
// sorts are there: the first places of what heads and units name that are not compacted, the last entry of each lane that
// readers take, and the entry that closed a lane. What else a lane has there counts as placed at the next entry of the lane
// that is there. Bases are those of the transactions that are named, and of the last one; those of others count as that of the
// last one before that is named, or as 0.
//
// | bytes | what |
// |---|---|
// | varint | their count |
// | varint | with version 3: the offset, less that of the one before |
// | 1 | of each: 1 if it was given up, 2 if the remote did not state its chain, 4 with a receive time, 8 if it is rejected |
// | varint ×3 | lane, first and last sequence; absent where it was given up |
// | varint | receive time in milliseconds since 1970, where there is one |
// | 1 | why it is rejected |
// | 32 ×2 | its hash, and the log's chain there |
//
// *Records* come in the order of their names as bytes. Of each:
//
// | bytes | what |
// |---|---|
// | varint, count | its name, from 1 byte |
// | 1 | 1 if a transaction is known that created it; then timestamp (8, little-endian), lane, sequence (varints); 2 if it is
//   not there until it is created |
// | varint | count of its cells: existence, then fields in the order of their names and kinds |
// | varint | of each: kind × 2, + 1 for the existence |
// | name | the field's name, but for the existence |
// | … | heads, elements or units |
//
// A *name* of a type or a field is 0 and its text (varint, count) where it stands first, and after that its number among
// these, from 1. Of *heads*:
//
// | bytes | what |
// |---|---|
// | varint | their count; they come greatest first |
// | varint | of each: 0 if its transaction is that of the head before it, else its lane + 1 |
// | varint ×2 | timestamp less that before (zigzag), sequence; absent after 0 |
// | varint | index of its operation |
// | … | payload |
//
// A payload is a varint with its count of bytes and these; in an existence 0 for dead, 1 and the type's name, or 2 and where
// the record moved to (varint, count); in contributions what it had seen stands before: 0 nothing, 1 and an offset of this
// incarnation, 2 and another incarnation (16, big-endian) and its offset.
//
// *Elements* of a set or a map, in the order of their names: their count, of each the encoded element or key (varint,
// count), and heads. *Units* of a list or a text:
//
// | bytes | what |
// |---|---|
// | varint | count of the lanes that made some |
// | varint ×2 | of each: lane, and count of its runs of operations |
// | varint ×4 | of each run: sequence less the one before, index, units of each operation, count of operations |
// | 1 | of each part, in the order of the units: 1; 0 after the last one |
// | unit | its first unit |
// | varint | count of the units, at most 16,384 |
// | 1 | 1 for a left origin, 2 for a right origin, 4 if they are visible, 8 for an element |
// | unit ×3 | left origin of the first, right origin of all, the element: as far as there are any |
// | varint ×2 | depth and right depth of the first: see `Level` |
// | varint, count | the UTF-8 of visible units of a text |
// | varint | count of the elements of a list that were inserted as one of the units; of each: |
// | varint | the unit's number less the first one's; then the heads of its places, and those of its values |
//
// A *unit* is the lane that made it and its number. The payload of a place's head is the unit's number.
//
// In a snapshot with a floor, compacted heads and runs have the sequence 0, numbers of units may be in no part, and a part
// has the elements that are at one of its units, which it shows, in place of those that were inserted as one.

/// What encoder and decoder of a content have in common.
enum SnapshotContent {
  struct EntryFlags: OptionSet {
    let rawValue: UInt8
    static let isGivenUp = EntryFlags(rawValue: 1)
    static let isChainUnstated = EntryFlags(rawValue: 2)
    static let hasReceiveTime = EntryFlags(rawValue: 4)
    static let isRejected = EntryFlags(rawValue: 8)
  }

  struct PartFlags: OptionSet {
    let rawValue: UInt8
    static let hasLeft = PartFlags(rawValue: 1)
    static let hasRight = PartFlags(rawValue: 2)
    static let isVisible = PartFlags(rawValue: 4)
    static let hasElement = PartFlags(rawValue: 8)
  }

  /// The most units in a part.
  static let unitsMax: UInt64 = 16_384
  /// From so many bytes on, a part of the content ends before the next record; and from twice as many, within one.
  static let partBytes = 2 << 20

  /// A lane as the content names it.
  struct Lane: Hashable {
    var replica: ReplicaNumber
    var epoch: UInt32
  }
}

/// Encodes the content of a snapshot, and gives its parts away as they are full.
final class SnapshotEncoder {
  var writer = ByteWriter()
  private(set) var parts: [SnapshotManifest.Part] = []
  private var hasher = ContentHasher()
  private var lanes: [SnapshotContent.Lane: UInt64] = [:]
  private var names: [NameNumber: UInt64] = [:]
  private var last = Head(
    timestamp: Timestamp(rawValue: 0), id: HeadID(replica: .none, epoch: 0, sequence: 0, index: 0))
  private let keep: (_ index: Int, _ stored: [UInt8]) throws -> Void
  private let note: ((SnapshotContent.Lane, ClosedRange<UInt64>) throws -> Void)?

  /// - Parameter keep: called with each part as it is stored, and its index.
  init(_ keep: @escaping (_ index: Int, _ stored: [UInt8]) throws -> Void) { (self.keep, note) = (keep, nil) }

  /// Keeps nothing.
  ///
  /// - Parameter note: called with the transactions that heads and units name.
  init(noting note: @escaping (SnapshotContent.Lane, ClosedRange<UInt64>) throws -> Void) {
    (keep, self.note) = ({ _, _ in }, note)
  }

  /// Notes that heads or units name transactions; none of those that compaction has made.
  func note(_ sequences: ClosedRange<UInt64>, of replica: ReplicaNumber, _ epoch: UInt32) throws {
    guard let note, sequences.lowerBound > 0 else { return }
    try note(SnapshotContent.Lane(replica: replica, epoch: epoch), sequences)
  }

  // MARK: Parts

  /// Ends the part before a record.
  func beginRecord() throws { try cut(from: SnapshotContent.partBytes) }

  /// Ends the part where a decoder may need the next one.
  func mayCut() throws { try cut(from: 2 * SnapshotContent.partBytes) }

  private func cut(from byteCount: Int) throws {
    if writer.count >= byteCount { try endPart() }
  }

  private func endPart() throws {
    if note != nil { return writer.removeAll() }
    guard parts.count < Limits.snapshotPartsMax,
      let (part, stored) = SnapshotManifest.Part.pack(writer.span)
    else {
      throw StoreError(.full, "a snapshot would have more parts than a snapshot may", hint: "split the zone")
    }
    hasher.update(writer.span)
    try keep(parts.count, stored)
    parts.append(part)
    writer.removeAll()
  }

  /// Ends the content.
  ///
  /// - Returns: its hash.
  func finish() throws -> ContentHash {
    writer.append(0)
    try endPart()
    return hasher.finish()
  }

  // MARK: Identities

  /// Gives a lane the next index.
  func define(_ lane: SnapshotContent.Lane) { lanes[lane] = UInt64(lanes.count) }

  func index(of replica: ReplicaNumber, _ epoch: UInt32) throws -> UInt64 {
    if let index = lanes[SnapshotContent.Lane(replica: replica, epoch: epoch)] { return index }
    throw StoreError(
      .damaged, "replica number \(replica.rawValue), epoch \(epoch), made something and is not in the log",
      hint: StoreError.damageHint)
  }

  func append(lane replica: ReplicaNumber, _ epoch: UInt32) throws {
    writer.append(varint: try index(of: replica, epoch))
  }

  func append(unit: UnitID) throws {
    try append(lane: unit.replica, unit.epoch)
    writer.append(varint: unit.number)
  }

  func append(name number: NameNumber, _ view: ReadView) throws {
    if let known = names[number] { return writer.append(varint: known) }
    names[number] = UInt64(names.count) + 1
    writer.append(varint: 0)
    writer.append(text: try view.name(number).rawValue)
  }

  // MARK: Heads

  /// Appends a head without its payload.
  func append(_ head: Head) throws {
    let (id, known) = (head.id, last)
    last = head
    try note(id.sequence...id.sequence, of: id.replica, id.epoch)
    if id.isOfTransaction(known.id.replica, known.id.epoch, known.id.sequence),
      head.timestamp == known.timestamp
    {
      writer.append(0)
    } else {
      writer.append(varint: try index(of: id.replica, id.epoch) + 1)
      writer.append(
        zigzag: Int64(bitPattern: head.timestamp.rawValue &- known.timestamp.rawValue))
      writer.append(varint: id.sequence)
    }
    writer.append(varint: UInt64(id.index))
  }

  func append(payload: RawSpan) {
    writer.append(count: payload.byteCount)
    writer.append(payload)
  }
}
