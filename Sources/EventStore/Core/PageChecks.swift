import LMDB

extension StoreCore {
  /// Throws if a page of the data file is damaged. Work that reaches all of the file calls it first: LMDB
  /// would end the process at such a page.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  func checkAllPages() throws {
    try environment.checkPages()
    hasCheckedPages.value = true
  }

  /// Throws if a page that reading the log reaches is damaged; the records' may be.
  func checkPagesOfLog() throws {
    let others: Set = ["records", "elements", "runs", "references", "states", "indexes"]
    try environment.checkPages(of: Tables.names.filter { !others.contains($0) })
  }

  /// Throws if a page that reading records reaches is damaged; the log's may be.
  func checkPagesOfRecords() throws {
    // The order of contributions is read from segments and their placements.
    let others: Set = ["log", "sequences"]
    try environment.checkPages(of: Tables.names.filter { !others.contains($0) })
  }
}

extension Environment {
  /// Checks pages of the data file: those of some tables, or all.
  ///
  /// - Parameters:
  ///   - transactionID: the state to check, held by a read transaction.
  ///   - progress: called with how many pages are done, of how many; what it throws ends the work.
  func pageProblems(
    _ transactionID: UInt64, of tables: [String]? = nil,
    _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) throws -> [PageProblem] {
    var failure: (any Error)?
    let problems = try withoutActuallyEscaping(progress) { progress in
      func check(_ transactionID: UInt64?) throws -> [PageProblem] {
        try PageCheck.check(
          directory: directory, transactionID: transactionID, tables: tables
        ) { done, total in
          guard failure == nil else { return }
          do {
            try progress(done, total)
          } catch {
            failure = error
          }
        }
      }
      do {
        return try check(transactionID)
      } catch let error as LMDBError where error.code == .badTransaction {
        // Others have committed twice since the snapshot was taken: the newest state has its pages too.
        return try check(nil)
      }
    }
    if let failure { throw failure }
    return problems
  }

  /// Throws if a page of some tables, or of any, is damaged: LMDB would end the process there.
  ///
  /// - Throws: ``StoreError`` `damaged`, `closed`, `full`, `system`.
  func checkPages(of tables: [String]? = nil) throws {
    do {
      let reader = try beginRead()
      let problem = try pageProblems(reader.id, of: tables).first
      reader.abort()
      guard let problem else { return }
      throw StoreError(.damaged, "the data file is damaged: \(problem)", hint: StoreError.damageHint)
    } catch {
      throw StoreError.translate(error)
    }
  }
}
