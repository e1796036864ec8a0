import EventStore
import OperationFormat
import Replicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Runs a history of many writers on devices with real stores, and compares every device with the final tree.
///
/// One seed determines everything: equal runs end in equal digests.
package struct HistoryRunner {
  let options: HistoryOptions

  /// Creates a runner.
  package init(_ options: HistoryOptions) {
    precondition(options.syncEvery > 0, "a device syncs after at least one commit")
    precondition(0...1 ~= options.offlineChance, "a chance is from 0 to 1")
    precondition(1...HistoryOptions.devicesMax ~= options.devices ?? 1, "a run has 1 to 1,000 devices")
    self.options = options
  }

  /// Runs a history.
  ///
  /// - Parameters:
  ///   - source: the history.
  ///   - progress: called now and then. The run ends with what it throws.
  /// - Throws: ``HistoryError``; what the source, the stores and `progress` throw.
  package func run(
    _ source: any HistorySource, progress: (HistoryProgress) throws -> Void = { _ in }
  ) async throws -> HistoryReport {
    let survey = try source.survey()
    // Data of others in the remote would reach every device, and no device would equal the final tree.
    if case .folder(let directory) = options.remote { _ = try Self.prepare(directory, for: "the remote") }
    let scratch = options.keepDirectory == nil ? TemporaryDirectory() : nil
    let directory = try Self.prepare(options.keepDirectory ?? scratch!.path, for: "the stores")
    let run = try await HistoryRun(options, survey: survey, directory: directory)
    defer {
      run.close()
      // The directory is removed with its last reference: not before the stores are closed.
      withExtendedLifetime(scratch) {}
    }
    var reader = try source.makeReader()
    while let commit = try reader.next() {
      try progress(HistoryProgress(stage: .writing, done: run.report.commits, total: survey.commits))
      try await run.write(commit)
    }
    try await run.settle(progress)
    try run.compare(with: try source.finalTree(), progress)
    return run.report
  }

  /// Makes a directory, unless there is an empty one.
  private static func prepare(_ path: String, for purpose: String) throws -> String {
    try RunnerDirectory.make(path, for: purpose)
    guard try FileManager.default.contentsOfDirectory(atPath: path).isEmpty else {
      throw HistoryError(
        .directoryUnusable, "the directory “\(path)” is not empty", hint: "name a new one for \(purpose)")
    }
    return path
  }
}
