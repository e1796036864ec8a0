import LMDB

/// Verifies a store: its pages, its tables, its log, its records against a fresh fold of the log, and its
/// assets' files.
///
/// Each subject has its own type, which adds to the report.
enum Verification {
  static func run(
    _ core: StoreCore, _ progress: (VerificationProgress) throws -> Void
  ) throws -> VerificationReport {
    try core.read { source in
      var report = VerificationReport()
      let problems = try core.environment.pageProblems(source.transaction.id) { done, total in
        try progress(VerificationProgress(step: .pages, done: done, total: total))
      }
      for problem in problems { report.add(.page, "\(problem.page)", problem.kind.rawValue) }
      // On damaged pages nothing further can be read with trust.
      guard report.isSound else { return report }
      var tables = TableVerification(report)
      try tables.checkKeys(source)
      if tables.report.isSound { try tables.checkIdentities(source) }
      // Without keys and identities that can be read, nothing else can.
      guard tables.report.isSound else { return tables.report }
      tables.checkDeclaredFields(source)
      let isFoldingAgain = try source.isFoldingAgain()
      // It changes nothing.
      var files = core.snapshots
      files.didFindDamage = nil
      var log = LogVerification(tables.report)
      try log.check(source, progress)
      try log.countOriginAssets(source)
      var placements = PlacementVerification(log.report, isFoldingAgain: isFoldingAgain)
      try placements.check(source)
      report = placements.report
      if report.isSound {
        var snapshots = SnapshotVerification(report)
        try snapshots.check(source, files)
        report = snapshots.report
      }
      if report.isSound {
        var records = RecordVerification(
          report, files, scratchDirectory: core.configuration.scratchDirectory,
          isFoldingAgain: isFoldingAgain)
        try records.check(source, progress)
        report = records.report
      }
      // A damaged snapshot says nothing of the records, which were made of it before.
      if report.problems.allSatisfy({ [.snapshot, .record].contains($0.kind) }) {
        var indexes = IndexVerification(report)
        try indexes.check(source, progress)
        report = indexes.report
      }
      var assets = AssetVerification(report, names: log.assetNames, isFoldingAgain: isFoldingAgain)
      try assets.check(source, core.assets, progress)
      return assets.report
    }
  }

  /// What is wrong, without advice: that comes with the report.
  static func text(_ error: any Error) -> String {
    let error = StoreError.translate(error)
    return (error as? StoreError)?.message ?? "\(error)"
  }
}
