import OperationFormat

/// The row of a state: the result of one fold of a zone.
struct StateRow: Hashable, Sendable {
  enum Status: UInt8, Sendable {
    case live = 0
    /// A rebuild folds into it.
    case building = 1
    /// Replaced: its rows are removed in steps.
    case discarded = 2
    /// A snapshot is loaded into it. No zone has it yet.
    case loading = 3
    /// A rebuild is to fold into it, once the snapshot is loaded that the zone begins with.
    case awaiting = 4
  }

  var zone: ZoneNumber
  var status: Status
  /// The last record number given out.
  var lastRecord: UInt32
  /// How often a contribution got another timestamp. Each time, the order of contributions may have changed.
  var retimings: UInt64 = 0
  /// How many steps of loading a snapshot were done.
  var steps: UInt64 = 0
  /// Up to where its records are folded together; nil if nowhere.
  var floor: CompactionFloor?
  /// While the floor is not done: up to which record all are compacted.
  var lastCompacted: [UInt8] = []
  /// Where the job continues in the next record, if it has compacted a part of it.
  var pausedCompaction: ElementKey?
  /// While it is built: up to which position of the log all is folded that comes behind the last floor; nil before
  /// that.
  var foldedThrough: Position?

  init(zone: ZoneNumber, status: Status, lastRecord: UInt32 = 0) {
    self.zone = zone
    self.status = status
    self.lastRecord = lastRecord
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | varint | zone's number |
  // | 1 | status: 0 live, 1 building, 2 discarded, 3 loading, 4 awaiting |
  // | varint | last record number given out |
  // | varint | how often a contribution got another timestamp; absent where none ever did |
  // | varint | while it is loading, how many steps were done |
  // | varint ×3 | the floor's incarnation, offset and place; absent where there is none, and nothing follows. Then the row
  //   has how often a contribution got another timestamp, be it 0 |
  // | varint | position up to which the log is folded behind the floors; 0 for none |
  // | 1 | 1 if all records are compacted |
  // | … | the last record that is; absent where all are |

  func append(to writer: inout ByteWriter) {
    writer.append(1)
    writer.append(varint: UInt64(zone.rawValue))
    writer.append(status.rawValue)
    writer.append(varint: UInt64(lastRecord))
    if status == .loading {
      writer.append(varint: steps)
    } else if retimings > 0 || floor != nil || foldedThrough != nil {
      writer.append(varint: retimings)
    }
    guard floor != nil || foldedThrough != nil else { return }
    writer.append(varint: UInt64(floor?.incarnation.rawValue ?? 0))
    writer.append(varint: floor?.offset ?? 0)
    writer.append(varint: floor?.place ?? 0)
    writer.append(varint: foldedThrough?.rawValue ?? 0)
    guard let floor, !floor.isDone else { return writer.append(1) }
    writer.append(pausedCompaction == nil ? 0 : 2)
    if let pausedCompaction {
      writer.append(count: lastCompacted.count)
      writer.append(lastCompacted)
      writer.append(pausedCompaction.bytes)
    } else {
      writer.append(lastCompacted)
    }
  }

  /// Lets a floor count: all records are to be compacted.
  mutating func take(_ floor: CompactionFloor) {
    (self.floor, lastCompacted, pausedCompaction) = (floor, [], nil)
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("state row")
    zone = ZoneNumber(rawValue: try reader.readUInt32Varint("state.zone"))
    let byte = try reader.readUInt8("row")
    guard let status = Status(rawValue: byte) else {
      throw FormatError(
        .unknownTag, at: 2, in: "state.status", expected: "0 to 4", found: "\(byte)")
    }
    self.status = status
    lastRecord = try reader.readUInt32Varint("state.lastRecord")
    if status == .loading {
      steps = try reader.readVarint("state.steps")
    } else if reader.remaining > 0 {
      retimings = try reader.readVarint("state.retimings")
    }
    if reader.remaining > 0 {
      let incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("state.floor"))
      let offset = try reader.readVarint("state.floor")
      let place = try reader.readVarint("state.floor")
      if incarnation != .none {
        floor = CompactionFloor(incarnation: incarnation, offset: offset, place: place)
      }
      let position = try reader.readVarint("state.foldedThrough")
      if position > 0 { foldedThrough = Position(rawValue: position) }
      let job = try reader.readVarint("state.floor", in: 0...2)
      floor?.isDone = job == 1
      let count = job == 2 ? try reader.readCount("state.lastCompacted") : reader.remaining
      lastCompacted = row.extracting(try reader.readBytes(count, "state.lastCompacted")).bytes
      if job == 2 {
        pausedCompaction = ElementKey(
          bytes: row.extracting(try reader.readBytes(reader.remaining, "state.pausedCompaction")).bytes)
      }
    }
    try reader.finish("row")
  }
}
