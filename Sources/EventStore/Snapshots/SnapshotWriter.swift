import OperationFormat

/// Writes the content of a snapshot of a zone, from one read of a store that is settled there, or was at an offset.
///
/// Two stores that are settled at one offset write the same bytes, also later.
final class SnapshotWriter {
  /// The zone's lanes and the entries of its remote log.
  private let log: ReadView
  /// The zone's records at the token.
  private let view: ReadView
  private let zone: ZoneNumber
  private let incarnation: IncarnationNumber
  private let state: StateNumber
  private let token: ZoneRow.Token
  private let id: ZoneID
  /// Up to where the records are compacted.
  private let floor: CompactionFloor?
  private var encoder: SnapshotEncoder
  private let entries: SnapshotEntries

  /// - Parameter past: an offset before the token, and the records as the log makes them up to there; nil for those at the
  ///   token.
  /// - Throws: ``StoreError`` `unsettled` if the store has folded something else than the log up to its token;
  ///   `zoneUnknown`, `newerFormat`, `damaged`.
  init(
    of id: ZoneID, _ read: borrowing ReadTransaction, past: (offset: UInt64, records: ReadView)? = nil,
    keep: @escaping (Int, [UInt8]) throws -> Void
  ) throws {
    log = read.readView
    view = past?.records ?? log
    var token = try Self.checkedToken(of: id, log)
    let (number, row) = try log.zones.visible(id)
    if let past {
      token.offset = past.offset
      token.hash = try log.segments.hash(at: past.offset, in: number, token.incarnation)
    } else if try read.pendingCount(in: id) > 0 {
      throw StoreError.unsettled(id, "something waits to be sent")
    } else if try log.segments.hasAny(in: number, token.incarnation, from: token.offset + 1) {
      throw StoreError.unsettled(id, "something was sent that was not read back")
    }
    (self.id, zone, state, self.token, incarnation) = (id, number, row.state, token, token.incarnation)
    floor = try view.states.storedRow(of: row.state).floor
    if let floor, !floor.isDone { throw StoreError.unsettled(id, "its records are being compacted") }
    encoder = SnapshotEncoder(keep)
    entries = SnapshotEntries(log, zone, incarnation, foldedThrough: floor?.offset ?? 0)
  }

  /// The token of a zone that was folded up to there.
  ///
  /// - Throws: ``StoreError`` `unsettled`, `zoneUnknown`, `newerFormat`, `damaged`.
  static func checkedToken(of id: ZoneID, _ log: ReadView) throws -> ZoneRow.Token {
    let (zone, row) = try log.zones.visible(id)
    guard let token = row.token, token.offset > 0 else {
      throw StoreError.unsettled(id, "it has not read anything of a remote log")
    }
    if row.building != .none || row.isBaseBehindToken {
      throw StoreError.unsettled(id, "its records are being folded again")
    }
    if try log.lanes.rereading(of: zone) != nil {
      throw StoreError.unsettled(id, "its log is being read again")
    }
    if try !log.meta.unfoldedKinds().isEmpty {
      throw StoreError(
        .newerFormat, "the log has operations that this version does not fold", hint: "update Tributary")
    }
    if try log.placements.hasOtherIncarnation(than: token.incarnation, of: zone) {
      throw StoreError.unsettled(id, "it was in another remote log before")
    }
    return token
  }

  /// Writes all of it.
  ///
  /// - Parameter progress: called now and then with how many records are written.
  func write(progress: (UInt64) throws -> Void) throws -> SnapshotManifest {
    let lanes = try findLanes()
    try findNamedEntries(of: lanes.map(\.lane))
    try appendLanes(lanes)
    try appendEntries()
    var records: UInt64 = 0
    var digest = CellDigest()
    try view.forEachRow(in: id) { name, row, _ in
      try encoder.beginRecord()
      try row.withUnpacked { row in
        try append(name, row)
        try StateDigest.append(name, row, state, view, to: &digest)
      }
      records += 1
      if records.isMultiple(of: 4096) { try progress(records) }
      return true
    }
    let content = try encoder.finish()
    try progress(records)
    guard let chain = try log.segments.chain(at: token.offset, in: zone, incarnation) else {
      throw StoreError.unsettled(id, "the chain of its log is not known")
    }
    return SnapshotManifest(
      zone: ZoneID(name: id.name), incarnation: try log.incarnations.identity(of: incarnation),
      offset: token.offset, hash: token.hash, chain: chain, content: content, digest: digest.finish(),
      floor: floor?.offset, records: records, parts: encoder.parts)
  }

  // MARK: The log

  /// - Returns: the lanes with their replicas, in order.
  private func findLanes() throws -> [(lane: SnapshotContent.Lane, replica: ReplicaID)] {
    var found: Set<SnapshotContent.Lane> = []
    try log.segments.forEach(in: zone, incarnation, upTo: token.offset) { _, row in
      if !row.isQuarantined { found.insert(SnapshotContent.Lane(replica: row.replica, epoch: row.epoch)) }
    }
    return try found.map { ($0, try log.replicas.identity(of: $0.replica)) }
      .sorted { ($0.1.rawValue, $0.0.epoch) < ($1.1.rawValue, $1.0.epoch) }
  }

  /// Finds the entries at or below the floor that are still named.
  private func findNamedEntries(of lanes: [SnapshotContent.Lane]) throws {
    guard floor != nil else { return }
    let writing = encoder
    defer { encoder = writing }
    encoder = SnapshotEncoder(noting: { [entries] in try entries.note($1, of: $0) })
    for lane in lanes { encoder.define(lane) }
    try view.forEachRow(in: id) { name, row, _ in
      try encoder.beginRecord()
      try row.withUnpacked { try append(name, $0) }
      return true
    }
    try entries.finish(lanes)
  }

  private func appendLanes(_ lanes: [(lane: SnapshotContent.Lane, replica: ReplicaID)]) throws {
    for (lane, _) in lanes { encoder.define(lane) }
    encoder.writer.append(count: lanes.count)
    for (lane, replica) in lanes {
      let (number, epoch) = (lane.replica, lane.epoch)
      let last = try log.placements.lastPlaced(
        number, epoch, in: zone, incarnation, before: token.offset + 1)
      encoder.writer.append(bigEndian: replica.rawValue)
      encoder.writer.append(varint: UInt64(epoch))
      encoder.writer.append(varint: last)
      let closure = try log.lanes.closure(of: number, epoch, in: zone, incarnation) ?? 0
      encoder.writer.append(varint: closure <= token.offset ? closure : 0)
      encoder.writer.append(littleEndian: try lastTimestamp(of: number, epoch, last).rawValue)
      let parent = last > 0 ? try log.lanes.parent(of: number, epoch, in: zone) : nil
      encoder.writer.append(
        varint: try parent.map { try encoder.index(of: $0.replica, $0.epoch) + 1 } ?? 0)
      if let parent { encoder.writer.append(varint: parent.sequence) }
      let steps = try entries.folded(
        LaneBases(log, zone, incarnation).steps(of: number, epoch, through: last), of: lane)
      encoder.writer.append(count: steps.count)
      var before: UInt64 = 0
      for step in steps {
        encoder.writer.append(varint: step.sequence - before)
        encoder.writer.append(varint: step.base)
        before = step.sequence
        try encoder.mayCut()
      }
      try encoder.mayCut()
    }
  }

  private func lastTimestamp(of replica: ReplicaNumber, _ epoch: UInt32, _ last: UInt64) throws -> Timestamp {
    if last == 0 { return Timestamp(rawValue: 0) }
    if let position = try log.log.position(of: replica, epoch, last, in: zone) {
      return try LogReader(log).entry(at: position).transaction.timestamp
    }
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    return try log.lanes.retirement(of: lane)?.timestamp ?? Timestamp(rawValue: 0)
  }

  private func appendEntries() throws {
    var left = entries.count(upTo: token.offset)
    encoder.writer.append(varint: left)
    var last: UInt64 = 0
    var next = entries.foldedThrough + 1
    try log.segments.forEach(in: zone, incarnation, upTo: token.offset) { offset, row in
      guard entries.has(offset) else { return }
      guard offset <= max(next, entries.foldedThrough),
        let chain = try log.segments.chain(at: offset, in: zone, incarnation)
      else {
        throw StoreError(
          .damaged, "the entry at offset \(next) of zone “\(id)” is missing from the store",
          hint: StoreError.damageHint)
      }
      left -= 1
      next = max(next, offset + 1)
      if floor != nil { encoder.writer.append(varint: offset - last) }
      last = offset
      var flags: SnapshotContent.EntryFlags = []
      if row.isQuarantined { flags.insert(.isGivenUp) }
      if !row.isChainStated { flags.insert(.isChainUnstated) }
      if row.receivedMilliseconds != nil { flags.insert(.hasReceiveTime) }
      if row.rejection != nil { flags.insert(.isRejected) }
      encoder.writer.append(flags.rawValue)
      if !row.isQuarantined {
        try encoder.append(lane: row.replica, row.epoch)
        encoder.writer.append(varint: row.first)
        encoder.writer.append(varint: row.last)
      }
      if let received = row.receivedMilliseconds { encoder.writer.append(varint: received) }
      if let reason = row.rejection { encoder.writer.append(reason.rawValue) }
      row.hash.write(to: &encoder.writer)
      chain.hash.write(to: &encoder.writer)
      try encoder.mayCut()
    }
    guard last == token.offset, left == 0 else {
      throw StoreError(
        .damaged, "the entry at offset \(next) of zone “\(id)” is missing from the store",
        hint: StoreError.damageHint)
    }
  }

  // MARK: Records

  private func append(_ name: Name, _ row: RawSpan) throws {
    encoder.writer.append(text: name.rawValue)
    switch try Creation(cell: row.extracting(RecordRow.place(of: .creation, in: row).body)) {
    case .unknown:
      throw StoreError.unsettled(id, "an earlier version folded it: fold it again with `replay rebuild`")
    case .none: encoder.writer.append(StoredRow(row).isUncreated ? 2 : 0)
    case .made(let stamp):
      let head = stamp.head(0)
      encoder.writer.append(1)
      encoder.writer.append(littleEndian: head.timestamp.rawValue)
      try encoder.append(lane: head.id.replica, head.id.epoch)
      encoder.writer.append(varint: head.id.sequence)
    }
    let index = try CellIndex(row)
    let entries = try view.cellsByName(index)
    encoder.writer.append(count: entries.count)
    for (entry, _) in entries {
      let cell = entry.cell
      guard let layout = cell.layout else {
        throw StoreError(
          .newerFormat, "a record has a cell of a kind that this version does not know",
          hint: "update Tributary")
      }
      encoder.writer.append(varint: UInt64(cell.rawValue & 0xf) << 1 | (cell == .existence ? 1 : 0))
      if cell != .existence { try encoder.append(name: cell.field, view) }
      try index.withRow(of: entry, in: row) { row in
        let reader = CellReader(cell, in: StoredRow(row), state, view)
        switch layout {
        case .heads: try append(try reader.heads(), of: cell)
        case .elements: try appendElements(of: reader)
        case .units: try appendUnits(of: reader)
        }
      }
    }
  }

  private func append(_ heads: [OwnedHead], of cell: CellNumber) throws {
    encoder.writer.append(count: heads.count)
    for owned in heads {
      try encoder.append(owned.head)
      let payload = owned.payload.span.bytes
      if cell == .existence {
        try append(existence: payload)
      } else if cell.kind == .contributions {
        let contribution = try ContributionPayload(payload)
        try append(base: contribution.base)
        encoder.append(payload: payload.extracting(contribution.value))
      } else {
        encoder.append(payload: payload)
      }
      try encoder.mayCut()
    }
  }

  private func append(existence payload: RawSpan) throws {
    let existence = try Existence(payload: payload)
    switch existence {
    case .dead: encoder.writer.append(0)
    case .alive(let type):
      encoder.writer.append(1)
      try encoder.append(name: type, view)
    case .moved:
      encoder.writer.append(2)
      encoder.append(payload: payload.extracting(1...))
    }
  }

  private func append(base: BaseNumbers?) throws {
    guard let base else { return encoder.writer.append(0) }
    if base.incarnation == incarnation {
      encoder.writer.append(1)
    } else {
      encoder.writer.append(2)
      encoder.writer.append(bigEndian: try view.incarnations.identity(of: base.incarnation).rawValue)
    }
    encoder.writer.append(varint: base.offset)
  }

  private func appendElements(of reader: borrowing CellReader<ReadView>) throws {
    encoder.writer.append(count: try ElementRow.count(in: reader.body))
    let cell = reader.cell
    try reader.forEachElement { element in
      encoder.append(payload: element.identity.span.bytes)
      try append(element.heads, of: cell)
    }
  }

  // MARK: Units

  private func appendUnits(of reader: borrowing CellReader<ReadView>) throws {
    let order = try reader.unitOrder()
    try appendMakers(of: order)
    let (cell, record) = (reader.cell, try reader.record)
    try order.forEachPiece(unitsMax: SnapshotContent.unitsMax) { piece, text in
      try append(piece, text)
      if cell.hasScalars { return encoder.writer.append(0) }
      try appendItems(of: piece, cell, record)
    }
    encoder.writer.append(0)
  }

  private func appendMakers(of order: borrowing UnitOrder<ReadView>) throws {
    let inserters = try order.inserters().map { ($0, try encoder.index(of: $0.replica, $0.epoch)) }
      .sorted { $0.1 < $1.1 }
    encoder.writer.append(count: inserters.count)
    for (inserter, index) in inserters {
      let all = UnitRange(
        first: UnitID(inserter, 0), count: try order.nextNumber(of: inserter.replica, inserter.epoch))
      var runs: [MakerRow.Entry] = []
      for made in try order.operations(making: all) {
        if let last = runs.last, last.lastSequence < .max, last.lastSequence + 1 == made.sequence,
          last.index == made.index, last.unitsEach == made.units.count
        {
          runs[runs.count - 1].operations += 1
        } else {
          runs.append(
            MakerRow.Entry(
              sequence: made.sequence, index: made.index, unitsEach: made.units.count, operations: 1))
        }
      }
      encoder.writer.append(varint: index)
      encoder.writer.append(count: runs.count)
      var before: UInt64 = 0
      for run in runs {
        try encoder.note(run.sequence...run.lastSequence, of: inserter.replica, inserter.epoch)
        encoder.writer.append(varint: run.sequence - before)
        encoder.writer.append(varint: UInt64(run.index))
        encoder.writer.append(varint: run.unitsEach)
        encoder.writer.append(varint: run.operations)
        before = run.lastSequence
        try encoder.mayCut()
      }
    }
  }

  private func append(_ piece: Piece, _ text: ArraySlice<UInt8>) throws {
    try encoder.mayCut()
    encoder.writer.append(1)
    try encoder.append(unit: piece.first)
    encoder.writer.append(varint: piece.count)
    var flags: SnapshotContent.PartFlags = []
    if piece.left != nil { flags.insert(.hasLeft) }
    if piece.right != nil { flags.insert(.hasRight) }
    if piece.isVisible { flags.insert(.isVisible) }
    if piece.element != nil { flags.insert(.hasElement) }
    encoder.writer.append(flags.rawValue)
    for unit in [piece.left, piece.right, piece.element] {
      if let unit { try encoder.append(unit: unit) }
    }
    encoder.writer.append(varint: piece.level.depth)
    encoder.writer.append(varint: piece.level.rightDepth)
    encoder.append(payload: text.span.bytes)
  }

  private func appendItems(of piece: Piece, _ cell: CellNumber, _ record: UInt32) throws {
    guard floor == nil else { return try appendPlacedItems(of: piece, cell, record) }
    func key(_ number: UInt64) -> ElementKey {
      ElementKey(state: state, record: record, cell: cell, item: UnitID(piece.first.inserter, number))
    }
    let end = key(piece.end)
    var units: [UnitID] = []
    try view.forEachElement(
      under: .items(of: state, record: record, cell: cell), from: key(piece.first.number)
    ) { key, _ in
      guard compareBytes(key, end.bytes.span.bytes) < 0 else { return false }
      units.append(try ElementKey.item(of: key))
      return true
    }
    encoder.writer.append(count: units.count)
    for unit in units {
      encoder.writer.append(varint: unit.number - piece.first.number)
      try append(item: unit, of: cell, record)
    }
  }

  /// Those that are at one of a part's units: the unit that an element was inserted as may be in no part.
  private func appendPlacedItems(of piece: Piece, _ cell: CellNumber, _ record: UInt32) throws {
    encoder.writer.append(varint: piece.isVisible ? piece.count : 0)
    guard piece.isVisible else { return }
    for index in 0..<piece.count {
      encoder.writer.append(varint: index)
      let item = piece.element ?? UnitID(piece.first.inserter, piece.first.number + index)
      try append(item: item, of: cell, record)
    }
  }

  private func append(item: UnitID, of cell: CellNumber, _ record: UInt32) throws {
    let places = try view.itemHeads(.place, of: item, cell, record: record, state)
    encoder.writer.append(count: places.count)
    for owned in places {
      try encoder.append(owned.head)
      let place = try ItemRow.unit(owned.head, owned.payload.span.bytes)
      encoder.writer.append(varint: place.number)
      try encoder.mayCut()
    }
    try append(try view.itemHeads(.value, of: item, cell, record: record, state), of: cell)
  }
}

extension StoreError {
  /// - Parameter why: in words, why the state is not the log's.
  static func unsettled(_ zone: ZoneID, _ why: String) -> StoreError {
    StoreError(
      .unsettled, "a snapshot of zone “\(zone)” cannot be made: \(why)",
      hint: "sync the zone to its end, then try again")
  }
}
