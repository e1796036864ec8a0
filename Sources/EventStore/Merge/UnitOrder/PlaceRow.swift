import OperationFormat

/// The leaves of an inserter's units, as runs: each entry holds from its number up to the next entry's.
///
/// A unit's entry is in the row with the greatest first number that is at most the unit's. Beyond the
/// inserter's last unit a row's content means nothing. When a leaf splits, the new leaf's pieces get entries.
/// After each of them an entry repeats the old leaf for the numbers that follow. So each unit's entry stays
/// right, whichever of its neighbours moved.
///
/// Units that compaction has dropped have the leaf of the last one before them that it has not, or leaf 0 if there is
/// none: so an entry begins only where the leaf of units that are there changes. Stores that an earlier program has
/// compacted have leaf 0 for all of them.
///
/// | bytes | what |
/// |---|---|
/// | varint | the leaf of the row's first number |
/// | varint ×2 | numbers on from the one told before, from 1; leaf: again and again |
struct PlaceRow {
  struct Entry: Hashable {
    var number: UInt64
    var leaf: NodeNumber
  }

  /// The leaf of dropped units in front of all others.
  static let dropped: NodeNumber = 0

  /// Ascending, never empty; the first number is the key's.
  var entries: [Entry]

  var first: UInt64 { entries[0].number }

  init(_ row: RawSpan, first: UInt64) throws(FormatError) {
    var reader = ByteReader(row)
    var number = first
    entries = [Entry(number: number, leaf: try reader.readUInt32Varint("runs.places"))]
    while reader.remaining > 0 {
      number &+= try reader.readVarint("runs.places", in: 1...UnitOrderLimits.unitsMax)
      guard number <= UnitOrderLimits.unitsMax else {
        throw .damagedRuns("places", expected: "at most \(UnitOrderLimits.unitsMax)", found: "\(number)")
      }
      entries.append(Entry(number: number, leaf: try reader.readUInt32Varint("runs.places")))
    }
  }

  init(entries: [Entry]) { self.entries = entries }

  func append(to writer: inout ByteWriter) {
    var number: UInt64?
    for entry in entries {
      if let number { writer.append(varint: entry.number &- number) }
      writer.append(varint: UInt64(entry.leaf))
      number = entry.number
    }
  }

  /// The leaf of a unit whose number is at least the row's first.
  func leaf(of number: UInt64) -> NodeNumber {
    var leaf: NodeNumber = 0
    for entry in entries {
      if entry.number > number { break }
      leaf = entry.leaf
    }
    return leaf
  }

  /// The first number after one that the row tells of again; nil if it tells of none.
  func end(of number: UInt64) -> UInt64? { entries.first { $0.number > number }?.number }

  /// Sets the leaf of numbers that belong to this row.
  ///
  /// - Parameter keepsRest: whether what was true of the number after them stays so, and is in this row.
  /// - Returns: whether anything changed.
  mutating func set(_ numbers: Range<UInt64>, to leaf: NodeNumber, keepsRest: Bool) -> Bool {
    var made: [Entry] = []
    made.reserveCapacity(entries.count + 2)
    func add(_ entry: Entry) {
      if made.last?.leaf != entry.leaf { made.append(entry) }
    }
    for entry in entries where entry.number < numbers.lowerBound { add(entry) }
    let rest = self.leaf(of: numbers.upperBound)
    add(Entry(number: numbers.lowerBound, leaf: leaf))
    if keepsRest { add(Entry(number: numbers.upperBound, leaf: rest)) }
    for entry in entries where entry.number >= numbers.upperBound { add(entry) }
    if made == entries { return false }
    entries = made
    return true
  }
}

extension UnitTree {
  /// The leaf of a unit; nil if it was never set.
  func leafNumber(of unit: UnitID) throws -> NodeNumber? {
    if let row = nodes.places(of: unit) { return row.leaf(of: unit.number) }
    let key = keys.places(unit)
    return try storage.withLastRun(atMost: key.span, prefixBytes: RunKeys.inserterBytes) { key, row in
      let row = try PlaceRow(row, first: try RunKeys.number(of: key))
      return row.leaf(of: unit.number)
    }
  }

  /// The last unit before one that was dropped, of the same inserter, that was not; nil if there is none.
  func lastKept(before unit: UnitID) throws -> UnitID? {
    var end = unit.number
    while end > 0, let row = try placeRow(atMost: UnitID(unit.inserter, end - 1)) {
      for entry in row.entries.reversed() where entry.number < end {
        if entry.leaf != PlaceRow.dropped {
          guard let last = try leaf(entry.leaf).last(before: UnitID(unit.inserter, end)) else {
            throw FormatError.damagedRuns("places", expected: "a unit in leaf \(entry.leaf)", found: "others")
          }
          return last
        }
        end = entry.number
      }
    }
    return nil
  }

  /// The first number after one that the rows tell of again, which is at most another; that one if there is none.
  func end(of number: UInt64, in row: PlaceRow, of inserter: Inserter, atMost bound: UInt64) throws -> UInt64
  {
    if let next = row.end(of: number) { return min(next, bound) }
    // A number that the row tells of, and one behind it.
    var (low, high) = (number, bound)
    while high > low, high - low > 1 {
      let middle = low + (high - low) / 2
      guard let other = try placeRow(atMost: UnitID(inserter, middle)), other.first > number else {
        low = middle
        continue
      }
      high = other.first
    }
    return high
  }

  func placeRow(atMost unit: UnitID) throws -> PlaceRow? {
    if let row = nodes.places(of: unit) { return row }
    let key = keys.places(unit)
    return try storage.withLastRun(atMost: key.span, prefixBytes: RunKeys.inserterBytes) { key, row in
      try PlaceRow(row, first: try RunKeys.number(of: key))
    }
  }

  /// Reads the row of the greatest first number, for those that follow.
  private func keepLastPlaceRow(of inserter: Inserter) throws {
    let end = UnitID(inserter, .max)
    if nodes.places(of: end) == nil, let row = try placeRow(atMost: end) { nodes.keepLast(row, of: inserter) }
  }
}

extension UnitTree where Storage: RunStorage {
  /// Sets the leaf of units, and of the dropped ones that follow them.
  ///
  /// - Parameter areLast: whether the inserter has none after them.
  mutating func place(
    _ numbers: Range<UInt64>, of inserter: Inserter, in leaf: NodeNumber, areLast: Bool = false
  ) throws {
    if areLast { try keepLastPlaceRow(of: inserter) }
    var keepsRest = !areLast
    var end = try areLast ? numbers.upperBound : endOfDropped(behind: numbers.upperBound, of: inserter)
    if keepsRest, try placeRow(atMost: UnitID(inserter, end))?.first == end { keepsRest = false }
    while end > numbers.lowerBound {
      guard var row = try placeRow(atMost: UnitID(inserter, end - 1)) else {
        let entries = [PlaceRow.Entry(number: numbers.lowerBound, leaf: leaf)]
        return try write(PlaceRow(entries: entries), of: inserter)
      }
      let start = max(row.first, numbers.lowerBound)
      if row.set(start..<end, to: leaf, keepsRest: keepsRest) { try write(row, of: inserter) }
      keepsRest = false
      end = start
    }
  }

  /// Writes that the units of an inserter are in no leaf; those that come are.
  mutating func dropAll(of inserter: Inserter) throws {
    let entries = [PlaceRow.Entry(number: 0, leaf: PlaceRow.dropped)]
    try write(PlaceRow(entries: entries), of: inserter)
  }

  /// The number behind the dropped units from one on. Those that were not dropped are in the leaf that their entry tells.
  private func endOfDropped(behind number: UInt64, of inserter: Inserter) throws -> UInt64 {
    let bound = try droppedEnd(of: inserter)
    guard number < bound, let row = try placeRow(atMost: UnitID(inserter, number)) else { return number }
    var end = try self.end(of: number, in: row, of: inserter, atMost: bound)
    let node = row.leaf(of: number)
    if node == PlaceRow.dropped { return end }
    for piece in try leaf(node).pieces where piece.first.inserter == inserter && piece.end > number {
      end = min(end, max(piece.first.number, number))
    }
    return end
  }

  /// Writes a row, in two where it has become too long.
  private mutating func write(_ row: PlaceRow, of inserter: Inserter) throws {
    var writer = ByteWriter()
    row.append(to: &writer)
    if writer.count > UnitOrderLimits.packedBytesMax, row.entries.count > 1 {
      // Numbers are given out in ascending order, so mostly the end of the last row grows: it takes little
      // along.
      let cut = row.entries.count * 7 / 8
      try write(PlaceRow(entries: Array(row.entries[..<cut])), of: inserter)
      return try write(PlaceRow(entries: Array(row.entries[cut...])), of: inserter)
    }
    let key = keys.places(UnitID(inserter, row.first))
    try storage.writeRun(writer.span, key.span)
    nodes.update(row, of: inserter)
  }
}
