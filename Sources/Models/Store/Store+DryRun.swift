/// Seeing what a new schema does before it is used.
extension Store {
  /// Reads all records of some models, as a new version of the app has them, and tells what is not as it
  /// should be. Nothing is written.
  ///
  /// - Parameters:
  ///   - models: the models of the new version. A model brings its submodels.
  ///   - steps: a migration, which is tried and undone, some hundred records at a time: a step does not see
  ///     what one before it did to others. Steps that are not of records are left out.
  /// - Throws: what a step throws; `StoreError` `damaged`, and as ``write(_:)``.
  /// - Complexity: linear in the records of the store.
  public func dryRun(_ models: [any Model.Type], _ steps: [MigrationStep] = []) async throws -> SchemaReport {
    let all = models.withSubmodels
    for model in all { try model.check() }
    var report = try read { tx in
      var report = SchemaReport()
      for model in all { try report.add(model, tx) }
      return report
    }
    let ofRecords = steps.filter { if case .records = $0.work { true } else { false } }
    if ofRecords.isEmpty { return report }
    for zone in try read({ try $0.zones() }) {
      var progress = MigrationProgress()
      var isDone = false
      while !isDone {
        (progress, isDone, report) = try await tried { [progress, report] tx in
          var (progress, report) = (progress, report)
          let isDone = try MigrationStep.run(ofRecords, in: zone, &progress, &tx) { report.addMigrated($0) }
          return (progress, isDone, report)
        }
        try Task.checkCancellation()
      }
    }
    return report
  }

  /// Runs a closure that writes, and undoes what it did.
  private func tried<R: Sendable>(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    do {
      return try await write { tx -> R in throw Undo(result: try body(&tx)) }
    } catch let undo as Undo<R> {
      return undo.result
    }
  }
}

/// Ends a write that is to leave nothing.
private struct Undo<R: Sendable>: Error {
  let result: R
}
