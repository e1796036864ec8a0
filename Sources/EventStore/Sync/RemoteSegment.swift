package import OperationFormat

/// A segment of a zone's remote log, as the replicator gives it to the store.
package struct RemoteSegment: Sendable {
  package var zone: ZoneID
  package var incarnation: IncarnationID
  /// Its place in the zone's remote log, from 1.
  package var offset: UInt64
  package var hash: ContentHash
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  package var receivedMilliseconds: UInt64?
  /// The greatest offset that any of its transactions had seen; 0 if none had seen any, or it is not said.
  package var base: UInt64
  /// The hash of the segment at ``base``; nil if it is not said.
  package var baseHash: ContentHash?
  /// The hash of its replica's segment before it; nil if it is not said.
  package var previousHash: ContentHash?
  /// The canonical bytes of its transactions: consecutive ones of one replica and epoch.
  package var transactions: [[UInt8]]
  /// Who wrote it, and which sequences it holds, as its header says; nil where only its transactions say so.
  package var writer: StoreIdentity?
  package var saidSequences: ClosedRange<UInt64>?
  /// Why it is invalid for everyone, where whoever unpacked it has found that already. It has no transactions then.
  package var rejection: SegmentRejection?
  /// Whether it stands for an entry that whoever runs the remote gave up: it has no transactions, and the tombstone's
  /// hash.
  package var isQuarantined = false

  package init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, base: UInt64 = 0, baseHash: ContentHash? = nil,
    previousHash: ContentHash? = nil, transactions: [[UInt8]]
  ) {
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.base = base
    self.baseHash = baseHash
    self.previousHash = previousHash
    self.transactions = transactions
  }

  /// What stands for an entry that was given up.
  package static func quarantined(
    _ zone: ZoneID, _ incarnation: IncarnationID, at offset: UInt64, tombstone: ContentHash
  ) -> RemoteSegment {
    var segment = RemoteSegment(
      zone: zone, incarnation: incarnation, offset: offset, hash: tombstone, receivedMilliseconds: nil,
      transactions: [])
    segment.isQuarantined = true
    return segment
  }
}

/// The remote's answer that a segment that this store has shipped is at an offset.
package struct Acknowledgement: Sendable {
  package var zone: ZoneID
  package var incarnation: IncarnationID
  package var offset: UInt64
  package var hash: ContentHash
  package var receivedMilliseconds: UInt64?
  /// The sequences of the segment's transactions.
  package var sequences: ClosedRange<UInt64>
  /// The lane that they are of; nil for the store's present own one.
  package var writer: StoreIdentity?
  /// The header that was shipped; nil where it is not said.
  package var header: SegmentHeader?

  package init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, sequences: ClosedRange<UInt64>, writer: StoreIdentity? = nil,
    header: SegmentHeader? = nil
  ) {
    self.writer = writer
    self.header = header
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.sequences = sequences
  }
}

/// What folding remote segments did.
package struct FoldReport: Hashable, Sendable {
  /// Transactions that were new.
  package var folded = 0
  /// Transactions that the store had, and whose bytes are the same.
  package var known = 0
  /// Transactions whose heads got an earlier effective timestamp, and changed a winner by it.
  package var retimed = 0
  /// Cells that got a second head, which their other heads had not seen.
  package var conflicts = 0
  /// Segments that every replica rejects.
  package var rejected = 0
  /// Others' transactions that were removed, since their log, which was read again, does not have them.
  package var removed = 0
  /// Segments that were too much for one commit, and those that came behind them: the zone's log was folded again with them,
  /// beside the present records.
  package var foldedBeside = 0
  /// How many of the segments were folded, from the first on: fewer than were given where they were much work.
  package var segments = 0
  /// Up to where the zone of the last segment is folded now; nil if there was no segment.
  package var token: ChangeToken?

  package init() {}
}

extension LocalStore {
  /// Rows that are touched before a commit of several segments ends: what a segment takes beside the steps that can be counted
  /// from it, such as a record's many elements that one operation looks at.
  private static let foldedRowsMax = 50_000

  /// Folds segments of remote logs in, in the order given: transactions and token in one commit, or nothing.
  ///
  /// It ends after a segment by which it has touched so many rows that others who write have waited long enough;
  /// ``FoldReport/segments`` tells how far it came.
  ///
  /// A segment at or before the zone's token is compared and changes nothing.
  ///
  /// - Parameter isMoreToCome: whether segments of the same zone follow at once. Where the records fall behind the token, they
  ///   stay behind it, to be folded once for all of them: ``finishRenewal()`` is to be called after the last.
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `outOfOrder`, `fork`, `mismatch`, `damaged`,
  ///   `newerFormat`. Where the segment is invalid for everyone, ``StoreError/rejection`` says why: then
  ///   ``reject(_:_:)`` is to be called.
  package func fold(_ segments: [RemoteSegment], isMoreToCome: Bool = false) async throws -> FoldReport {
    return try await fold(segments, isMoreToCome) { ingest, segments, report in
      let start = ingest.store.storage.touchedRows
      for segment in segments where ingest.store.storage.touchedRows - start < Self.foldedRowsMax {
        try ingest.ingestBounded(segment, &report)
        report.segments += 1
      }
    }
  }

  /// The most segments of a commit that may reject some: what a rejection takes is counted by no steps.
  private static let rejectableMax = 512

  /// Does with segments what ``fold(_:)`` does, and rejects those that are invalid for everyone, as ``reject(_:_:)`` does: all
  /// in one commit, or nothing.
  ///
  /// It ends before a segment that can be neither folded nor rejected, and where ``fold(_:)`` ends;
  /// ``FoldReport/segments`` tells how far it came.
  ///
  /// - Throws: what ``fold(_:)`` says of the first segment, unless that is invalid for everyone.
  package func foldOrReject(
    _ segments: [RemoteSegment], isMoreToCome: Bool = false
  ) async throws -> FoldReport {
    try await fold(segments, isMoreToCome) { ingest, segments, report in
      let start = ingest.store.storage.touchedRows
      for segment in segments.prefix(Self.rejectableMax)
      where ingest.store.storage.touchedRows - start < Self.foldedRowsMax {
        switch try ingest.problem(of: segment) {
        case nil: try ingest.ingestBounded(segment, &report)
        case let problem?:
          if let reason = problem.rejection {
            try ingest.reject(segment, reason, &report)
          } else if report.segments > 0 {
            return
          } else {
            throw problem
          }
        }
        report.segments += 1
      }
    }
  }

  /// Folds segments in one commit, up to the first one that is too much for it. Where that is the first of all, they are
  /// appended to the log, which is folded again beside the present records, in commits that are not too long for others who
  /// write.
  private func fold(
    _ segments: [RemoteSegment], _ isMoreToCome: Bool,
    _ ingestAll:
      @escaping @Sendable (inout RemoteIngest, ArraySlice<RemoteSegment>, inout FoldReport) throws
      -> Void
  ) async throws -> FoldReport {
    var given = segments[...]
    var isTooMuch = false
    while true {
      do {
        let report = try await perform { [given, isTooMuch] store in
          var ingest = RemoteIngest(store)
          return try ingest.ingestOrAppend(of: given.first?.zone, isTooMuch: isTooMuch) { ingest, report in
            try ingestAll(&ingest, given, &report)
          }
        }
        guard let report else {
          try await finishRenewal()
          continue
        }
        if report.foldedBeside > 0, !isMoreToCome { try await finishRenewal() }
        return report
      } catch let reached as FoldBoundReached {
        if reached.segments > 0 { given = given.prefix(reached.segments) } else { isTooMuch = true }
      }
    }
  }

  /// Records that a segment is invalid for everyone: it is passed over, and its writer's lane is closed.
  ///
  /// - Parameter reason: what ``fold(_:)`` said of it.
  /// - Throws: as ``fold(_:)``.
  package func reject(_ segment: RemoteSegment, _ reason: SegmentRejection) async throws -> FoldReport {
    try await perform { store in
      var report = FoldReport()
      try RemoteIngest(store).reject(segment, reason, &report)
      return report
    }
  }

  /// Records that the remote has a run of this store's transactions. They are pending no more.
  ///
  /// Where that makes the token pass them, the rules that every replica folds by are asked first: what breaks one is
  /// rejected, as everywhere else, and the report says so.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `outOfOrder`, `mismatch`.
  package func acknowledge(_ acknowledgement: Acknowledgement) async throws -> FoldReport {
    return try await perform { store in
      var report = FoldReport()
      try RemoteIngest(store).acknowledge(acknowledgement, &report)
      return report
    }
  }
}
