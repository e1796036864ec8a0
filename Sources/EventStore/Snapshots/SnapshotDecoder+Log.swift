import OperationFormat

/// Reading what a content says of the log: lanes, and entries up to its offset.
extension SnapshotDecoder {
  /// Reads the lanes, which come first.
  mutating func readLanes() throws -> [FoundLane] {
    try mayCut()
    // Each has an entry.
    let count = try readNumber(0...min(manifest.offset, UInt64(UInt32.max)))
    laneCount = Int(count)
    var lanes: [FoundLane] = []
    for _ in 0..<count {
      try mayCut()
      let replica = ReplicaID(rawValue: try readBigEndian128())
      let epoch = UInt32(try readNumber(0...UInt64(UInt32.max)))
      var lane = FoundLane(
        id: StoreIdentity(replica: replica, epoch: epoch), last: try readNumber(0 ... .max - 1), bases: [])
      if let before = lanes.last?.id, (before.replica.rawValue, before.epoch) >= (replica.rawValue, epoch) {
        throw bad("lanes in ascending order", "\(lane.id)")
      }
      let closure = try readNumber(0...manifest.offset)
      lane.closure = closure == 0 ? nil : closure
      lane.timestamp = Timestamp(rawValue: try readLittleEndian64())
      let parent = try readNumber(0...count)
      if parent > 0 { lane.parent = (Int(parent) - 1, try readNumber(1 ... .max)) }
      var step = BaseStep(sequence: 0, base: 0)
      for _ in 0..<(try readNumber(0...lane.last)) {
        try mayCut()
        guard step.sequence < lane.last else { throw bad("at most \(lane.last) sequences", "more") }
        let more = try readNumber(1...(lane.last - step.sequence))
        let base = try readNumber(0...manifest.offset - 1)
        guard step.base < base || step.sequence == 0 else { throw bad("a base over \(step.base)", "\(base)") }
        step = BaseStep(sequence: step.sequence + more, base: base)
        lane.bases.append(step)
      }
      guard lane.last == 0 || lane.bases.first?.sequence == 1 else {
        throw bad("a base of sequence 1", "none")
      }
      lanes.append(lane)
    }
    for lane in lanes {
      guard let parent = lane.parent else { continue }
      guard parent.sequence <= lanes[parent.lane].last, lanes[parent.lane].id != lane.id else {
        throw bad("a parent in the log", "sequence \(parent.sequence) of \(lanes[parent.lane].id)")
      }
    }
    return lanes
  }

  /// Reads the entries, which follow the lanes, and calls a closure with each.
  ///
  /// - Throws: `FormatError` also if the lanes are not what the entries make of them.
  mutating func readEntries(
    of lanes: [FoundLane], _ body: (_ offset: UInt64, _ lane: Int?, SegmentRow) throws -> Void
  ) throws {
    try mayCut()
    let (end, folded) = (manifest.offset, manifest.foldedThrough)
    let count = try readNumber(end - folded...end)
    var check = LaneCheck(lanes)
    var (hash, chain) = (ContentHash.zero, LogChain(hash: .zero))
    var offset: UInt64 = 0
    for _ in 0..<count {
      try mayCut()
      let before = max(offset, folded)
      if manifest.hasAllEntries {
        offset += 1
      } else {
        guard offset < end else { throw bad("the last entry at offset \(end)", "more") }
        offset += try readNumber(1...end - offset)
      }
      // All are there behind the floor.
      guard offset <= folded || offset - 1 <= before else {
        throw bad("the entry after offset \(before)", "\(offset)")
      }
      let (lane, row, found) = try readEntry()
      if let lane, let problem = check.problem(of: row, at: offset, lane, isFolded: offset <= folded) {
        throw bad("\(problem)", "another")
      }
      (hash, chain) = (row.hash, found)
      try body(offset, lane, row)
    }
    guard offset == end else { throw bad("an entry at offset \(end)", "none") }
    guard hash == manifest.hash, chain == manifest.chain else {
      throw bad("the entry and the chain that the manifest says", "others")
    }
    if let problem = check.problem { throw bad(problem, "another") }
  }

  private mutating func readEntry() throws -> (lane: Int?, row: SegmentRow, chain: LogChain) {
    let byte = try readByte()
    guard byte < 16 else { throw bad("flags of an entry", "\(byte)") }
    let flags = SnapshotContent.EntryFlags(rawValue: byte)
    let lane = flags.contains(.isGivenUp) ? nil : try readLane()
    var row = SegmentRow.quarantined(.zero)
    if lane != nil {
      (row.first, row.last) = (try readNumber(1 ... .max - 1), try readNumber(0 ... .max - 1))
    }
    if flags.contains(.hasReceiveTime) { row.receivedMilliseconds = try readNumber(0 ... .max - 1) }
    if flags.contains(.isRejected) {
      let byte = try readByte()
      guard let reason = SegmentRejection(rawValue: byte), lane != nil else {
        throw bad("why an entry is rejected", "\(byte)")
      }
      row.rejection = reason
    }
    row.hash = try readHash()
    let chain = LogChain(hash: try readHash())
    row.chain = chain
    row.isChainStated = !flags.contains(.isChainUnstated)
    return (lane, row, chain)
  }

  /// What the entries make of the lanes: a snapshot that says otherwise would leave a store that cannot sync.
  private struct LaneCheck {
    let lanes: [FoundLane]
    private var placed: [UInt64]
    private var closures: [UInt64?]

    init(_ lanes: [FoundLane]) {
      self.lanes = lanes
      placed = Array(repeating: 0, count: lanes.count)
      closures = Array(repeating: nil, count: lanes.count)
    }

    /// What is wrong with an entry, as what is expected; nil if nothing is.
    ///
    /// - Parameter isFolded: whether entries before it may not be there.
    mutating func problem(
      of row: SegmentRow, at offset: UInt64, _ lane: Int, isFolded: Bool
    ) -> String? {
      guard row.rejection == nil else {
        if closures[lane] == nil { closures[lane] = offset }
        return nil
      }
      guard row.first <= row.last, isFolded ? row.last > placed[lane] : row.first - 1 <= placed[lane],
        row.last - row.first < UInt64(Limits.segmentUnpackedBytesMax), closures[lane] == nil
      else { return "sequences that follow \(placed[lane]) of \(lanes[lane].id) at offset \(offset)" }
      placed[lane] = max(placed[lane], row.last)
      return nil
    }

    /// What is wrong with the lanes, as what is expected; nil if nothing is.
    var problem: String? {
      for (index, lane) in lanes.enumerated() {
        if lane.last != placed[index] { return "sequence \(placed[index]) as the last one of \(lane.id)" }
        if lane.closure != closures[index] {
          return "\(lane.id) closed at \(closures[index].map { "\($0)" } ?? "no offset")"
        }
        if continuesItself(index) { return "\(lane.id) without itself before it" }
      }
      return nil
    }

    private func continuesItself(_ index: Int) -> Bool {
      var next = lanes[index].parent?.lane
      var count = 0
      while let found = next {
        count += 1
        if found == index || count > Limits.lineageMax { return true }
        next = lanes[found].parent?.lane
      }
      return false
    }
  }
}
