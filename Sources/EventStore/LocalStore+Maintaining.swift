package import OperationFormat

extension LocalStore {
  /// Drops what is derived and folds the log again: records come out as the same bytes.
  ///
  /// It works in steps, and other reads and writes continue meanwhile. Records are made again beside the
  /// present ones, which one small commit then replaces. If it is cut short, by a crash or a thrown error,
  /// nothing has changed, and the next call continues where it ended; so does the next round of sync, which gives it up
  /// where it fails.
  ///
  /// - Parameter progress: called after each step with how many transactions are done, of how many; what it
  ///   throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in the log.
  public func rebuild(
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> RebuildReport {
    try await RebuildRun(core).run(progress: progress)
  }

  /// Rewrites rows of former versions in the shorter form of this one. Nothing that the store shows changes.
  /// A store need not be upgraded: a record gets the shorter form when it changes.
  ///
  /// It works in steps, and other reads and writes continue meanwhile. If it is cut short, by a crash or a
  /// thrown error, the next call continues: it finds the rows that are left. The data file does not get
  /// smaller; its pages are used again.
  ///
  /// - Parameter progress: called after each step with what was done so far; what it throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in the records and the log.
  public func upgrade(progress: (UpgradeReport) throws -> Void = { _ in }) async throws -> UpgradeReport {
    try await StoreUpgrade.run(core, progress)
  }

  /// What ``upgrade(progress:)`` would do. It changes nothing.
  ///
  /// - Throws: ``StoreError`` `damaged`; what `progress` throws.
  /// - Complexity: linear in the records and the log.
  public func upgradeNeeded(
    progress: (UpgradeReport) throws -> Void = { _ in }
  ) throws -> UpgradeReport {
    try StoreUpgrade.count(core, progress)
  }

  /// Removes what deleted zones have left: records, transactions, places; and the files of assets that
  /// nothing names. The data file does not get smaller; its pages are used again.
  ///
  /// It works in steps, and other reads and writes continue meanwhile. If it is cut short, by a crash or a
  /// thrown error, the next call continues where it ended. Positions of transactions that are gone are not
  /// given out again. A zone whose remote does not yet know of its deletion is left as it is.
  ///
  /// - Parameter progress: called after each step with what was done so far; what it throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in what is taken away and in the files of assets.
  public func reclaim(progress: (ReclaimReport) throws -> Void = { _ in }) async throws -> ReclaimReport {
    try await Reclaim.run(core, progress: progress)
  }

  /// Checks the pages of the data file, every entry of the log with its CRC and its sequence, every cell
  /// against a fresh fold of the log, and every asset's file against its hash. It changes nothing.
  ///
  /// - Parameter progress: called now and then; what it throws ends the work.
  /// - Throws: ``StoreError`` `closed`, `full`, `system`; what `progress` throws. What is wrong with the
  ///   store is not thrown but reported.
  /// - Complexity: linear in the log, the records and the bytes of assets. It holds a snapshot while it
  ///   works.
  public func verify(
    progress: (VerificationProgress) throws -> Void = { _ in }
  ) throws -> VerificationReport {
    try Verification.run(core, progress)
  }

  /// Copies the store into a directory, as it is at one commit, with the files of its assets, and verifies the copy.
  /// Others may read and write meanwhile.
  ///
  /// The copy is a store. To put it back, copy its directory to a new place and open that; or call this for the copy. A
  /// store in a new place takes a new identity when it is opened for writing.
  ///
  /// If it is cut short, by a crash or a thrown error, a former copy in the directory is as it was, and the next call
  /// keeps the assets that were copied.
  ///
  /// - Parameters:
  ///   - directory: where the copy goes: an empty directory, one that is made, or one with an earlier copy of this store,
  ///     which is replaced.
  ///   - progress: called after each piece with what was done so far; what it throws ends the work.
  /// - Throws: ``StoreError`` `notAStore` if the directory has something else, or is in that of the store; `damaged`, `closed`,
  ///   `full`, `readOnly`, `system`; what `progress` throws.
  /// - Complexity: linear in the store and its assets, and the calling thread waits for it: call it off the main actor. The
  ///   data file grows as during a read of that length.
  @discardableResult
  public func backup(
    to directory: String, progress: (BackupReport) throws -> Void = { _ in }
  ) throws -> BackupReport {
    try withoutActuallyEscaping(progress) { try StoreBackup(core, directory, $0).run() }
  }

  /// Throws if a page that reading the log reaches is damaged; the records' may be.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  package func checkPagesOfLog() throws { try core.checkPagesOfLog() }

  /// Throws if a page that reading records reaches is damaged; the log's may be.
  ///
  /// - Throws: as ``checkPagesOfLog()``.
  package func checkPagesOfRecords() throws { try core.checkPagesOfRecords() }

  /// Makes the store's log from exported lines, in their order. May be called again with more lines: until
  /// the last of them are there, no other process opens the store, and neither does this one once it has
  /// closed it.
  ///
  /// The store keeps its own identity. What the exported store had not shipped is pending here: see
  /// `LogImport`.
  ///
  /// - Parameter isMoreToCome: whether the log has more lines than these.
  /// - Throws: ``StoreError`` `importInvalid`, `outOfOrder`, `damaged`; then nothing of the lines is in the
  ///   store.
  package func importLines(_ lines: [ExportedLine], isMoreToCome: Bool = false) async throws {
    try await LogImport.run(lines, isMoreToCome: isMoreToCome, core)
  }

  /// Whether the store notes that its log has operations of a kind that it keeps and does not fold.
  package func knowsUnfolded(_ kind: OperationKind) throws -> Bool {
    try read { try $0.readView.meta.unfoldedKinds().contains(kind) }
  }
}
