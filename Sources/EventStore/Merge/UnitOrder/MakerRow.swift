import OperationFormat

/// Which operations made the units of an inserter: runs of operations whose sequences follow each other, each
/// with the same index in its transaction and the same count of units.
///
/// The runs are as long as they can be, and a row is filled before the next one begins, so what is written
/// follows from the operations only, even if an operation got its units one by one. The gap of a run is how
/// many sequences it begins after the run before, or after 0.
///
/// | bytes | what |
/// |---|---|
/// | 1 | 1 an index, 2 several units, 4 several operations; in the upper 5 bits the gap, at most 31 |
/// | varint | the gap beyond 31; if the upper bits are 31 |
/// | varint | index of the operation in its transaction; absent for 0 |
/// | varint | units of each operation − 2; absent for 1 |
/// | varint | operations − 2; absent for 1 |
struct MakerRow {
  struct Entry: Hashable {
    /// The sequence of the first operation.
    var sequence: UInt64
    var index: UInt32
    var unitsEach: UInt64
    var operations: UInt64

    var lastSequence: UInt64 { sequence &+ (operations &- 1) }
    var units: UInt64 { unitsEach &* operations }

    func append(after last: UInt64, to writer: inout ByteWriter) {
      let gap = sequence &- last
      var flags = UInt8(min(gap, 31)) << 3
      if index != 0 { flags |= 1 }
      if unitsEach > 1 { flags |= 2 }
      if operations > 1 { flags |= 4 }
      writer.append(flags)
      if gap >= 31 { writer.append(varint: gap - 31) }
      if index != 0 { writer.append(varint: UInt64(index)) }
      if unitsEach > 1 { writer.append(varint: unitsEach - 2) }
      if operations > 1 { writer.append(varint: operations - 2) }
    }
  }

  /// The first unit's number.
  let first: UInt64
  private(set) var entries: [Entry] = []
  /// The number after the last unit's.
  private(set) var end: UInt64

  init(first: UInt64) {
    self.first = first
    end = first
  }

  init(_ row: RawSpan, first: UInt64) throws(FormatError) {
    self.first = first
    end = first
    var reader = ByteReader(row)
    var sequence: UInt64 = 0
    repeat {
      let flags = try reader.readUInt8("runs.makers")
      let gap = UInt64(flags >> 3)
      let more = gap == 31 ? try reader.readVarint("runs.makers.sequence", in: 0...(.max - 31)) : 0
      let (next, isBeyond) = sequence.addingReportingOverflow(gap + more)
      let index = flags & 1 == 0 ? 0 : try reader.readUInt32Varint("runs.makers.index")
      let range = 0...(UnitOrderLimits.unitsMax - 2)
      let unitsEach = flags & 2 == 0 ? 1 : try reader.readVarint("runs.makers.units", in: range) + 2
      let operations = flags & 4 == 0 ? 1 : try reader.readVarint("runs.makers.operations", in: range) + 2
      let (units, isTooMany) = unitsEach.multipliedReportingOverflow(by: operations)
      let (last, isLastBeyond) = next.addingReportingOverflow(operations - 1)
      guard !isBeyond, !isTooMany, !isLastBeyond, units <= UnitOrderLimits.unitsMax,
        end <= UnitOrderLimits.unitsMax, end + units <= UnitOrderLimits.unitsMax
      else {
        throw .damagedRuns(
          "makers", expected: "at most \(UnitOrderLimits.unitsMax) units",
          found: "sequence \(next), more units")
      }
      entries.append(Entry(sequence: next, index: index, unitsEach: unitsEach, operations: operations))
      end += units
      sequence = last
    } while reader.remaining > 0
  }

  func append(to writer: inout ByteWriter) {
    var sequence: UInt64 = 0
    for entry in entries {
      entry.append(after: sequence, to: &writer)
      sequence = entry.lastSequence
    }
  }

  /// The operation that made a unit, with its units; nil for numbers that the row has not.
  func operation(making number: UInt64) -> (sequence: UInt64, index: UInt32, units: Range<UInt64>)? {
    guard number >= first, number < end else { return nil }
    var start = first
    for entry in entries {
      let after = start + entry.units
      if number < after {
        let which = (number - start) / entry.unitsEach
        let from = start + which * entry.unitsEach
        return (entry.sequence + which, entry.index, from..<from + entry.unitsEach)
      }
      start = after
    }
    return nil
  }

  /// The operation that made the last unit.
  var last: (sequence: UInt64, index: UInt32, units: UInt64)? {
    entries.last.map { ($0.lastSequence, $0.index, $0.unitsEach) }
  }

  /// Takes the last operation away.
  mutating func removeLast() {
    guard var entry = entries.popLast() else { return }
    end -= entry.unitsEach
    entry.operations -= 1
    if entry.operations > 0 { entries.append(entry) }
  }

  /// Adds an operation behind all others.
  ///
  /// - Returns: false, and nothing is added, if it does not fit.
  mutating func append(sequence: UInt64, index: UInt32, units: UInt64) -> Bool {
    let before = (entries, end)
    if var last = entries.last, last.lastSequence < .max, last.lastSequence + 1 == sequence,
      last.index == index, last.unitsEach == units
    {
      last.operations += 1
      entries[entries.count - 1] = last
    } else {
      entries.append(Entry(sequence: sequence, index: index, unitsEach: units, operations: 1))
    }
    end += units
    var writer = ByteWriter()
    append(to: &writer)
    if writer.count <= UnitOrderLimits.packedBytesMax || before.0.isEmpty { return true }
    (entries, end) = before
    return false
  }
}

extension MakerRow {
  /// Adds operations behind all others, each of the same units; false, and nothing is added, if they do not fit.
  mutating func append(_ run: Entry) -> Bool {
    if run.operations == 1 { return append(sequence: run.sequence, index: run.index, units: run.unitsEach) }
    let before = (entries, end)
    entries.append(run)
    end += run.units
    var writer = ByteWriter()
    append(to: &writer)
    if writer.count <= UnitOrderLimits.packedBytesMax || before.0.isEmpty { return true }
    (entries, end) = before
    return false
  }
}

extension UnitTree {
  /// The row that says who made a unit, or the last one before it; nil if the inserter has none.
  func makerRow(atMost unit: UnitID) throws -> MakerRow? {
    if let row = nodes.makers(of: unit) { return row }
    let key = keys.makers(unit)
    return try storage.withLastRun(atMost: key.span, prefixBytes: RunKeys.inserterBytes) { key, row in
      try MakerRow(row, first: try RunKeys.number(of: key))
    }
  }

  /// The number behind the last compacted unit of an inserter.
  func compactedEnd(of inserter: Inserter) throws -> UInt64 {
    guard let made = try makerRow(atMost: UnitID(inserter, 0))?.operation(making: 0) else { return 0 }
    return made.sequence == 0 ? made.units.upperBound : 0
  }

  /// The number from which on no unit of an inserter was dropped.
  func droppedEnd(of inserter: Inserter) throws -> UInt64 {
    try root.dropped > 0 ? compactedEnd(of: inserter) : 0
  }

  func lastMakerRow(of inserter: Inserter) throws -> MakerRow? {
    let row = try makerRow(atMost: UnitID(inserter, .max))
    if let row { nodes.keepLast(row, of: inserter) }
    return row
  }
}

extension UnitTree where Storage: RunStorage {
  /// Writes that an operation made the inserter's next units.
  ///
  /// - Parameter isExtension: whether it is the operation that made the last ones.
  mutating func addMaker(
    _ operation: HeadID, units: UInt64, isExtension: Bool, to lastRow: MakerRow?
  ) throws {
    let inserter = Inserter(operation)
    var row = lastRow ?? MakerRow(first: 0)
    var units = units
    if isExtension, let last = row.last {
      units += last.units
      row.removeLast()
      if row.entries.isEmpty, row.first > 0 {
        // It is the only one in its row. As it grows, it may join those of the row before.
        let key = keys.makers(UnitID(inserter, row.first))
        try storage.deleteRun(key.span)
        guard let before = try makerRow(atMost: UnitID(inserter, row.first - 1)), before.end == row.first
        else {
          throw FormatError.damagedRuns("makers", expected: "all before \(row.first)", found: "a gap")
        }
        row = before
      }
    }
    if let last = row.last, last.sequence > operation.sequence {
      throw FormatError.damagedRuns(
        "makers", expected: "a sequence from \(last.sequence)", found: "\(operation.sequence)")
    }
    if !row.append(sequence: operation.sequence, index: operation.index, units: units) {
      // A row that an operation left is as it was before it.
      if isExtension { try write(row, of: inserter) }
      row = MakerRow(first: row.end)
      _ = row.append(sequence: operation.sequence, index: operation.index, units: units)
    }
    try write(row, of: inserter)
    nodes.keepLast(row, of: inserter)
  }

  /// Writes that a run of operations made the inserter's next units.
  mutating func addMakers(_ run: MakerRow.Entry, of inserter: Inserter) throws {
    var row = try lastMakerRow(of: inserter) ?? MakerRow(first: 0)
    if let last = row.last, last.sequence > run.sequence {
      throw FormatError.damagedRuns(
        "makers", expected: "a sequence from \(last.sequence)", found: "\(run.sequence)")
    }
    if !row.append(run) {
      row = MakerRow(first: row.end)
      _ = row.append(run)
    }
    try write(row, of: inserter)
    nodes.keepLast(row, of: inserter)
  }

  private func write(_ row: MakerRow, of inserter: Inserter) throws {
    var writer = ByteWriter()
    row.append(to: &writer)
    let key = keys.makers(UnitID(inserter, row.first))
    try storage.writeRun(writer.span, key.span)
  }
}
