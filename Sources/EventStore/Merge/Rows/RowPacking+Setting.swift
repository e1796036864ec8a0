import OperationFormat

// MARK: In version 2

/// The shortcut of the commonest change. What it does not know for certain it leaves to the way over version 1,
/// which is its oracle: both leave the same bytes.
extension RowPacking {
  /// A cell of the row that is read.
  private struct Read {
    var cell: PackedCells.Cell
    /// Of its one head.
    var (stamp, index): (Int, UInt32)
  }

  /// A row of more cells is left to the way over version 1.
  private static let cellsMax = 32
  private static let cellsBytes = cellsMax * MemoryLayout<Read>.stride

  /// Sets a field in a row of version 2 where the record's existence has one head, and the field one or none,
  /// and both are removed: the record is alive, and the field set, by a new head.
  ///
  /// - Parameter removes: whether the new head's transaction has seen a head.
  /// - Returns: the row, until the next call; nil if it is not so plain.
  @_lifetime(&self)
  mutating func set(
    _ field: CellNumber, to value: RawSpan, type: NameNumber, _ head: Head, in row: RawSpan,
    removes: (HeadID) throws -> Bool
  ) throws -> RawSpan? {
    guard let packed = PackedRow(row), !packed.isExistenceInFull, packed.type == type.rawValue,
      packed.rowFlags.isEmpty
    else { return nil }
    space.removeAll()
    let start = Self.stampsBytes + Self.beforeCellsBytes
    let before = Self.stampsBytes + Self.cellsBytes
    let memory = space.appendUninitialized(
      before + start + row.byteCount + value.byteCount + 16 * (Self.cellsMax + 1) + 64)
    let stamps = memory.baseAddress!.bindMemory(to: Stamp.self, capacity: Stamp.countMax)
    let cells = (memory.baseAddress! + Self.stampsBytes).bindMemory(to: Read.self, capacity: Self.cellsMax)
    guard let stampCount = try? packed.read(into: stamps, in: row),
      let count = Self.read(packed, row, stampCount, into: cells),
      try removes(stamps[0].head(packed.index).id)
    else { return nil }

    var place = 0
    while place < count, cells[place].cell.number < field { place += 1 }
    let isThere = place < count && cells[place].cell.number == field
    if isThere {
      let old = cells[place]
      guard old.cell.form == .head, !old.cell.payload.isEmpty, !PackedRow.isMark(old.cell.payload, in: row),
        try removes(stamps[old.stamp].head(old.index).id)
      else { return nil }
    }

    var writer = PackedRowWriter(
      UnsafeMutableRawBufferPointer(rebasing: memory[before...]), cellsAt: start)
    let (new, index) = (Stamp(head), head.id.index)
    writer.begin(with: new, packed.type, index, isThere ? count : count + 1)
    var size = PlainSize()
    guard let creation = try? packed.creation(in: row) else { return nil }
    writer.creation = creation
    size.add(creation)
    var expected = PackedCells.expected(after: packed.type &<< 4)
    // No stamp is searched for twice.
    var known = -1
    var number = 0
    for other in 0...count {
      if other == place {
        writer.writeOne(field, 0, index, value, 0..<value.byteCount, expected)
        size.addHead(value.byteCount)
        expected = PackedCells.expected(after: field.rawValue)
        if isThere { continue }
      }
      if other == count { break }
      let read = cells[other]
      let cell = read.cell
      if cell.form == .head {
        let stamp = stamps[read.stamp]
        if read.stamp != known {
          guard let found = writer.number(of: stamp) else { return nil }
          (known, number) = (read.stamp, found)
        }
        writer.writeOne(cell.number, number, read.index, row, cell.payload, expected)
        size.addHead(cell.payload.count)
      } else {
        writer.writeOther(cell.number, row, cell.payload, expected)
        size.addOther(cell.payload.count)
      }
      expected = PackedCells.expected(after: cell.number.rawValue)
    }
    guard let range = writer.finish(0, recordNumber: packed.recordNumber), range.count < size.least,
      size.most <= DividedRow.registersBytesMax
    else { return nil }
    return space.span.extracting(before + range.lowerBound..<before + range.upperBound)
  }

  /// Reads all cells; nil if they are too many, damaged, or one has several heads or is in another form.
  private static func read(
    _ packed: PackedRow, _ row: RawSpan, _ stampCount: Int, into cells: UnsafeMutablePointer<Read>
  ) -> Int? {
    var walk = PackedCells(row, from: packed.fields)
    var count = 0
    while let cell = walk.next() {
      // Heads in the form of version 1 might be written in another one now.
      guard count < cellsMax, cell.form == .head || cell.form == .other && !cell.number.isOfHeads else {
        return nil
      }
      cells[count] = Read(cell: cell, stamp: 0, index: 0)
      count += 1
    }
    if walk.hasFailed { return nil }
    var order = HeadOrderInRow(existence: packed.index, cellCount: count)
    for place in 0..<count where cells[place].cell.form == .head {
      var reader = PlainReader(row, at: cells[place].cell.start)
      let (stamp, index) = order.next(cells[place].cell.marker, &reader)
      guard !reader.failed, stamp < stampCount else { return nil }
      (cells[place].stamp, cells[place].index) = (stamp, index)
    }
    return count
  }
}

/// Bounds of the bytes that a row takes in version 1.
private struct PlainSize {
  /// A row without fields.
  private(set) var (least, most) = (RecordRow.headerBytes + 17, RecordRow.headerBytes + 50)

  /// Adds a cell with one head: 16 to 50 bytes around its payload.
  @inline(__always)
  mutating func addHead(_ payloadBytes: Int) {
    least += 16 + payloadBytes
    most += 50 + payloadBytes
  }

  /// Adds the record's creation: 11 to 28 bytes behind the cell's number and its byte count.
  mutating func add(_ creation: Creation) {
    switch creation {
    case .unknown: break
    case .none: (least, most) = (least + 3, most + 3)
    case .made: (least, most) = (least + 13, most + 30)
    }
  }

  @inline(__always)
  mutating func addOther(_ byteCount: Int) {
    least += 2 + byteCount
    most += 8 + byteCount
  }
}

extension Stamp {
  fileprivate init(_ head: Head) {
    self.init(
      timestamp: head.timestamp, sequence: head.id.sequence, replica: head.id.replica.rawValue,
      epoch: head.id.epoch)
  }
}
