/// Ingests segments of a zone's remote log, each call in one commit. Where a segment is too much for one
/// commit, it goes into the log, which is then folded again in several.
struct IngestRun {
  /// Rows that are touched before a commit of several segments ends: what a segment takes beside the steps
  /// that can be counted from it, such as a record's many elements that one operation looks at.
  private static let touchedRowsMax = 50_000
  /// The most segments of a commit that may reject some: what a rejection takes is counted by no steps.
  private static let rejectableMax = 512

  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  /// Folds segments, in their order, up to one by which the commit has touched many rows.
  func ingest(_ segments: [RemoteSegment], isMoreToCome: Bool) async throws -> IngestReport {
    return try await ingest(segments, isMoreToCome) { ingest, segments, report in
      let start = ingest.store.storage.touchedRows
      for segment in segments where ingest.store.storage.touchedRows - start < Self.touchedRowsMax {
        try ingest.ingestBounded(segment, &report)
        report.segments += 1
      }
    }
  }

  /// Folds segments, and rejects those that are invalid for everyone.
  func ingestOrReject(_ segments: [RemoteSegment], isMoreToCome: Bool) async throws -> IngestReport {
    try await ingest(segments, isMoreToCome) { ingest, segments, report in
      let start = ingest.store.storage.touchedRows
      for segment in segments.prefix(Self.rejectableMax)
      where ingest.store.storage.touchedRows - start < Self.touchedRowsMax {
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

  /// Ingests segments in one commit, up to the first one that is too much for it. Where that is the first of
  /// all, they are appended to the log, which is folded again beside the present records, in commits that are
  /// not too long for others who write.
  private func ingest(
    _ segments: [RemoteSegment], _ isMoreToCome: Bool,
    _ ingestAll:
      @escaping @Sendable (inout RemoteIngest, ArraySlice<RemoteSegment>, inout IngestReport) throws
      -> Void
  ) async throws -> IngestReport {
    var given = segments[...]
    var isTooMuch = false
    while true {
      do {
        let report = try await core.perform { [given, isTooMuch] store in
          var ingest = RemoteIngest(store)
          return try ingest.ingestOrAppend(of: given.first?.zone, isTooMuch: isTooMuch) { ingest, report in
            try ingestAll(&ingest, given, &report)
          }
        }
        guard let report else {
          try await RebuildRun(core).finish(given.first?.zone)
          continue
        }
        if report.foldedBeside > 0, !isMoreToCome { try await RebuildRun(core).finish(given.first?.zone) }
        // What fails here is told by ``LocalStore/finishRenewal()``.
        if !isMoreToCome { _ = try? await Compaction.finish(core, in: given.first?.zone) }
        return report
      } catch let reached as FoldBoundReached {
        if reached.segments > 0 { given = given.prefix(reached.segments) } else { isTooMuch = true }
      }
    }
  }

  func reject(_ segment: RemoteSegment, _ reason: SegmentRejection) async throws -> IngestReport {
    try await core.perform { store in
      var report = IngestReport()
      try RemoteIngest(store).reject(segment, reason, &report)
      return report
    }
  }

  func acknowledge(_ acknowledgement: Acknowledgement) async throws -> IngestReport {
    var report = try await core.perform { store in
      var report = IngestReport()
      var ingest = RemoteIngest(store)
      try ingest.acknowledge(acknowledgement, &report)
      return report
    }
    guard (try? await Compaction.finish(core, in: acknowledgement.zone)) ?? false else { return report }
    report.snapshotDueBytes = try core.read { source in
      // The zone may have gone since.
      guard let row = try source.readView.zones.find(acknowledgement.zone)?.row, row.state != .none else {
        return 0
      }
      return try row.snapshotDueBytes(source.readView.states.storedRow(of: row.state).floor)
    }
    return report
  }
}
