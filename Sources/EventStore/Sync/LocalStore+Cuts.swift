import LMDB
package import OperationFormat

extension LocalStore {
  /// The next segment to ship of a zone: the stored cut, or a proposal to be stored with ``storeCut(_:)``.
  ///
  /// - Returns: nil if the zone is not synced, its remote is not known to have it, or nothing is pending.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the segment.
  package func nextCut(of zone: ZoneID) throws -> SegmentCut? { try read { try $0.nextCut(of: zone) } }

  /// Stores a cut before it is shipped, unless another one is stored.
  ///
  /// A header with the content of the stored one takes its place: another codec may have packed it.
  ///
  /// - Returns: the stored one, which is to be shipped.
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `mismatch`; `outOfOrder` if another process has
  ///   shipped what it cuts.
  package func storeCut(_ header: SegmentHeader) async throws -> SegmentHeader {
    try await perform(isRepeatable: true) { try $0.storeCut(header) }
  }
}

extension ReadTransaction {
  package func nextCut(of zone: ZoneID) throws -> SegmentCut? {
    let (number, row) = try tables.zone(zone, interned, transaction)
    guard row.status == .attached, let token = row.token,
      let replica = try interned.replicas.number(of: identity.replica, in: tables.replicas, transaction)
    else { return nil }
    let placed = try tables.lastPlaced(replica, identity.epoch, in: number, token.incarnation, transaction)
    let incarnation = try interned.incarnations.identity(
      of: token.incarnation, in: tables.incarnations, transaction)
    if let cut = try tables.cut(of: number, transaction),
      cut.isNext(after: placed, token.incarnation, replica, identity.epoch)
    {
      var transactions: [[UInt8]] = []
      for sequence in cut.sequences {
        let bytes = try ownBytes(sequence, replica, number)
        guard let bytes else { throw StoreError.missing(sequence, zone) }
        transactions.append(bytes)
      }
      return SegmentCut(
        header: cut.header(zone, incarnation, identity.replica), isStored: true, transactions: transactions)
    }
    let last = try tables.lastSequence(of: replica, identity.epoch, in: number, transaction)
    try tables.checkPending(
      of: replica, identity.epoch, in: number, placed: placed, last: last, transaction)
    let transactions = try proposal(after: placed, replica, number)
    guard !transactions.isEmpty else { return nil }
    var previous = ContentHash.zero
    if let place = try tables.placement(
      of: replica, identity.epoch, placed, in: number, token.incarnation, transaction)
    {
      previous = try segmentHash(at: place.offset, number, token.incarnation, zone)
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation,
      baseHash: { try segmentHash(at: $0, number, token.incarnation, zone) }, previousHash: previous)
    return SegmentCut(header: header, isStored: false, transactions: transactions)
  }

  /// As many of the own transactions after one as a segment holds.
  private func proposal(
    after placed: UInt64, _ replica: ReplicaNumber, _ zone: ZoneNumber
  ) throws -> [[UInt8]] {
    var transactions: [[UInt8]] = []
    var operationCount = 0
    var byteCount = 0
    var layout = BodyLayout()
    while let bytes = try ownBytes(placed + 1 + UInt64(transactions.count), replica, zone) {
      #if PLANTED_BUGS
        let isLast = try ownBytes(placed + 2 + UInt64(transactions.count), replica, zone) == nil
        if PlantedBug.lastPendingForgotten.isPlanted, isLast { break }
      #endif
      var reader = ByteReader(bytes.span.bytes)
      _ = try TransactionHeader.read(from: &reader)
      try layout.parse(bytes.span.bytes.extracting(reader.position...))
      operationCount += layout.operations.count
      byteCount += SegmentBody.byteCount(ofTransactionOf: bytes.count)
      let isOver =
        operationCount > Limits.segmentOperationsMax || byteCount > Limits.segmentPackedBytesMax
      // One transaction is never too large for a segment.
      if isOver && !transactions.isEmpty { break }
      transactions.append(bytes)
    }
    return transactions
  }

  /// The canonical bytes of an own transaction, nil if there is none.
  private func ownBytes(
    _ sequence: UInt64, _ replica: ReplicaNumber, _ zone: ZoneNumber
  ) throws -> [UInt8]? {
    let position = try tables.position(of: replica, identity.epoch, sequence, in: zone, transaction)
    guard let position else { return nil }
    let reader = LogReader(tables, interned)
    return try reader.bytes(at: position, transaction)
  }

  private func segmentHash(
    at offset: UInt64, _ number: ZoneNumber, _ incarnation: IncarnationNumber, _ zone: ZoneID
  ) throws -> ContentHash {
    #if PLANTED_BUGS
      // Where a bug has put what was never shipped.
      if offset == 0 { return .zero }
    #endif
    if let hash = try tables.segment(at: offset, in: number, incarnation, transaction)?.hash { return hash }
    throw StoreError(
      .damaged, "the segment at offset \(offset) of zone “\(zone)” is missing from the store",
      hint: "run a verification of the store")
  }
}

extension WriteBatch {
  func storeCut(_ header: SegmentHeader) throws -> SegmentHeader {
    let tables = storage.tables
    let (number, row) = try storage.zone(header.zone)
    guard let token = row.token,
      let incarnation = try storage.interned.incarnations.number(
        of: header.incarnation, in: tables.incarnations, storage.transaction),
      token.incarnation == incarnation
    else { throw StoreError.incarnationChanged(header.zone, header.incarnation) }
    guard header.replica == identity.replica, header.epoch == identity.epoch else {
      throw StoreError(
        .mismatch,
        "a segment of replica \(header.replica), epoch \(header.epoch) is not this store's to ship",
        hint: "this is a defect of the replicator")
    }
    let replica = try storage.interned.replicas.makeNumber(
      for: header.replica, in: tables.replicas, storage.transaction)
    let placed = try tables.lastPlaced(
      replica, header.epoch, in: number, incarnation, storage.transaction)
    if let stored = try tables.cut(of: number, storage.transaction),
      stored.isNext(after: placed, incarnation, replica, header.epoch)
    {
      guard stored.sequences == header.sequences, stored.contentHash == header.contentHash else {
        return stored.header(header.zone, header.incarnation, header.replica)
      }
      // It stays what is next also where a part of it was placed meanwhile.
      try storage.setCut(CutRow(header, incarnation, replica), of: number)
      return header
    }
    let last = try storage.lastSequence(of: replica, header.epoch, in: number)
    guard header.sequences.lowerBound == placed + 1, header.sequences.upperBound <= last else {
      throw StoreError(
        .outOfOrder,
        "sequences \(header.sequences.lowerBound) to \(header.sequences.upperBound) of zone “\(header.zone)” were "
          + "cut, but \(placed) of \(last) are acknowledged",
        hint: "another process has shipped meanwhile: cut again")
    }
    try storage.setCut(CutRow(header, incarnation, replica), of: number)
    return header
  }

  /// Takes away a zone's cut once the remote has all that it cuts.
  func removeShippedCut(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    guard let cut = try storage.tables.cut(of: zone, storage.transaction), cut.incarnation == incarnation
    else { return }
    let placed = try storage.tables.lastPlaced(
      cut.replica, cut.epoch, in: zone, incarnation, storage.transaction)
    if cut.sequences.upperBound <= placed { try storage.removeCut(of: zone) }
  }
}

extension CutRow {
  /// Whether it cuts what is next after the last transaction that was placed in an incarnation. A stored cut that is
  /// not is left from before the zone was re-created or the store took another identity.
  fileprivate func isNext(
    after placed: UInt64, _ incarnation: IncarnationNumber, _ replica: ReplicaNumber, _ epoch: UInt32
  ) -> Bool {
    self.incarnation == incarnation && self.replica == replica && self.epoch == epoch
      && sequences.lowerBound <= placed + 1 && sequences.upperBound > placed
  }
}

extension StoreError {
  static func missing(_ sequence: UInt64, _ zone: ZoneID) -> StoreError {
    StoreError(
      .damaged, "sequence \(sequence) of zone “\(zone)” is missing from the store",
      hint: "run a verification of the store")
  }
}
