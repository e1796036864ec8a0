package import OperationFormat

/// Reads the content of a snapshot to its end, part after part: whether it is what the manifest says, and what a store can
/// begin with. Nothing is kept of the records.
///
/// It finds what a store finds that begins with the snapshot, but for the order of units, and for elements and cells that come
/// twice.
package final class SnapshotCheck {
  private var decoder: SnapshotDecoder
  private let lanes: [SnapshotDecoder.FoundLane]
  private let content: (_ index: Int) async throws -> [UInt8]
  private var plainCells: [SnapshotDecoder.PlainCell] = []
  /// Whether some heads may be compacted.
  private let hasFloor: Bool

  /// - Parameter content: gives what is in a part.
  /// - Throws: `FormatError` for a content that is not what the manifest says, or that no store wrote; what the closure throws.
  package static func run(
    _ manifest: SnapshotManifest, content: @escaping (_ index: Int) async throws -> [UInt8]
  ) async throws {
    let check = try await SnapshotDecoder.withFirstParts(of: manifest, content) {
      try SnapshotCheck(SnapshotDecoder(manifest, content: $0), content)
    }
    try await check.readRecords()
  }

  private init(
    _ decoder: consuming SnapshotDecoder, _ content: @escaping (_ index: Int) async throws -> [UInt8]
  ) throws {
    var decoder = decoder
    let lanes = try decoder.readLanes()
    try decoder.readEntries(of: lanes) { _, _, _ in }
    (self.lanes, self.content, hasFloor) = (lanes, content, decoder.manifest.floor != nil)
    self.decoder = decoder
  }

  /// Fetches the next part where one has ended.
  private func mayCut() async throws {
    guard let index = decoder.neededPart else { return }
    let part = try await content(index)
    decoder.take(part)
  }

  // MARK: Records

  private func readRecords() async throws {
    var records: UInt64 = 0
    var last: [UInt8] = []
    while true {
      try await mayCut()
      guard let range = try decoder.readRecordName() else { break }
      let name = decoder.bytes(range)
      guard records == 0 || compareBytes(last.span.bytes, name.span.bytes) < 0 else {
        throw decoder.bad("records in the order of their names", "another order")
      }
      (last, records) = (name, records + 1)
      if let creation = try decoder.readCreation(hasFloor: hasFloor).head { try check(creation) }
      let count = try decoder.readNumber()
      if try decoder.readPlainCells(count, into: &plainCells) {
        for cell in plainCells {
          try check(cell.head)
          if cell.field != nil { try decoder.withBytes(cell.payload) { try decoder.checkValue($0) } }
        }
      } else {
        for _ in 0..<count { try await readCell() }
      }
    }
    try decoder.finish()
    guard records == decoder.manifest.records else {
      throw decoder.bad("\(decoder.manifest.records) records", "\(records)")
    }
  }

  private func readCell() async throws {
    try await mayCut()
    guard let kind = try decoder.readCellKind() else { return try await readHeads(of: nil) }
    _ = try decoder.readName()
    switch kind.layout {
    case .heads: try await readHeads(of: kind)
    case .elements:
      for _ in 0..<(try decoder.readNumber(1 ... .max)) {
        try await mayCut()
        _ = try decoder.readPayload()
        try await readHeads(of: kind)
      }
    case .units:
      try await readMakers()
      while try await readUnits(of: kind) {}
    }
  }

  // MARK: Heads

  /// - Parameter kind: nil for the record's existence.
  private func readHeads(of kind: FieldKind?) async throws {
    for _ in 0..<(try decoder.readNumber(1 ... .max)) {
      try await mayCut()
      try check(decoder.readHead())
      try readPayload(of: kind)
    }
  }

  private func readPayload(of kind: FieldKind?) throws {
    guard let kind else {
      switch try decoder.readByte() {
      case 0: return
      case 1: _ = try decoder.readName()
      case 2: _ = try decoder.readPayload()
      case let tag: throw decoder.bad("0 to 2", "\(tag)")
      }
      return
    }
    if kind == .contributions { _ = try decoder.readBase() }
    let range = try decoder.readPayload()
    if kind == .set {
      guard range.isEmpty else { throw decoder.bad("no payload", "\(range.count) bytes") }
    } else {
      try decoder.withBytes(range) { try decoder.checkValue($0) }
    }
  }

  private func check(_ head: SnapshotDecoder.FoundHead) throws {
    guard head.sequence <= lanes[head.lane].last, head.sequence > 0 || hasFloor else {
      throw decoder.bad("a sequence of at most \(lanes[head.lane].last)", "\(head.sequence)")
    }
  }

  // MARK: Units

  private func readMakers() async throws {
    for _ in 0..<(try decoder.readNumber(1 ... .max)) {
      try await mayCut()
      let last = lanes[try decoder.readLane()].last
      var sequence: UInt64 = 0
      for _ in 0..<(try decoder.readNumber(1 ... .max)) {
        try await mayCut()
        let more = try decoder.readNumber(0...last - sequence)
        _ = try decoder.readNumber(0...UInt64(UInt32.max))
        _ = try decoder.readNumber(1...UnitOrderLimits.unitsMax)
        let operations = try decoder.readNumber(1...UnitOrderLimits.unitsMax)
        sequence += more
        guard sequence > 0 || hasFloor, operations - 1 <= last - sequence else {
          throw decoder.bad("a sequence of at most \(last)", "\(sequence) and \(operations) more")
        }
        sequence += operations - 1
      }
    }
  }

  private func readUnit() throws {
    _ = try decoder.readLane()
    _ = try decoder.readNumber(0...UnitOrderLimits.unitsMax - 1)
  }

  /// Reads the next part of a list or a text.
  ///
  /// - Returns: whether there was one.
  private func readUnits(of kind: FieldKind) async throws -> Bool {
    try await mayCut()
    let tag = try decoder.readByte()
    guard tag == 1 else {
      guard tag == 0 else { throw decoder.bad("0 or 1", "\(tag)") }
      return false
    }
    try readUnit()
    let count = try decoder.readNumber(1...SnapshotContent.unitsMax)
    let byte = try decoder.readByte()
    guard byte < 16 else { throw decoder.bad("flags of a part", "\(byte)") }
    let flags = SnapshotContent.PartFlags(rawValue: byte)
    for flag in [SnapshotContent.PartFlags.hasLeft, .hasRight, .hasElement] where flags.contains(flag) {
      try readUnit()
    }
    for _ in 0..<2 { _ = try decoder.readNumber(0...UnitOrderLimits.unitsMax) }
    _ = try decoder.readPayload()
    let isText = kind.with { $0.unitsAreScalars }
    for _ in 0..<(try decoder.readNumber(0...(isText ? 0 : count))) { try await readItem(of: kind, count) }
    return true
  }

  /// - Parameter count: the units of the part that has it.
  private func readItem(of kind: FieldKind, _ count: UInt64) async throws {
    try await mayCut()
    _ = try decoder.readNumber(0...count - 1)
    for _ in 0..<(try decoder.readNumber(1 ... .max)) {
      try await mayCut()
      try check(decoder.readHead())
      _ = try decoder.readNumber(0...UnitOrderLimits.unitsMax - 1)
    }
    try await mayCut()
    try await readHeads(of: kind)
  }
}
