/// Checks whether the pages of a data file hold together: what LMDB itself takes for granted. It reads the file
/// without mapping it, so no damage can end the process, and takes no locks.
///
/// It sees the structure alone: a flipped bit within a value is for the value's own checksum to find.
package enum PageCheck {
  /// How often a check is done anew because others have written meanwhile.
  private static let attemptsMax = 10

  /// Checks the whole file: the free list, the table of tables and all tables.
  ///
  /// Where others write at the same time, hold a read transaction and give its id, at once after its begin:
  /// it keeps the pages from being used again. Without one, the check is done anew when it has found problems and
  /// others have written meanwhile.
  ///
  /// - Parameters:
  ///   - directory: where `data.mdb` is.
  ///   - transactionID: the state to check; the newest if nil.
  ///   - progress: called from time to time with how many pages were looked at, and of how many.
  /// - Returns: at most 1,000 problems; none for a sound file or one that is empty.
  /// - Throws: `.notAStore`, `.versionMismatch`; `.badTransaction` if that state's meta page has been written over.
  /// - Complexity: reads each used page once; memory is one bit a page, and 8 bytes a free page.
  package static func check(
    directory: String, transactionID: UInt64? = nil,
    progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
  ) throws(LMDBError) -> [PageProblem] {
    let path = directory + "/data.mdb"
    let descriptor = try SystemCalls.open(path, readOnly: true, creates: false).descriptor
    defer { SystemCalls.close(descriptor) }
    for _ in 1..<attemptsMax {
      guard let roots = try Roots(descriptor, path, transactionID: transactionID) else { return [] }
      let problems = try checkAll(roots, progress)
      if problems.isEmpty || transactionID != nil { return problems }
      let isOutdated = try roots.isOutdated(descriptor, path)
      if !isOutdated { return problems }
    }
    throw LMDBError(
      code: .busy, call: "pread", path: path, message: "others write faster than the file can be checked",
      hint: "Check with a read transaction held")
  }

  private static func checkAll(
    _ roots: Roots, _ progress: @escaping (UInt64, UInt64) -> Void
  ) throws(LMDBError) -> [PageProblem] {
    if let problem = roots.problem { return [problem] }
    var walk = PageWalk(file: roots.file, meta: roots.meta)
    let total = min(roots.file.pageCount, roots.meta.lastPage + 1)
    walk.progress = { progress($0, total) }
    try walk.walk(roots.meta.freeList, role: .freeList, recordPage: roots.number)
    try walk.walk(roots.meta.tables, role: .tables, recordPage: roots.number)
    for (page, record) in walk.tableRecords {
      try walk.walk(record, role: .entries, recordPage: page)
    }
    walk.checkFreePagesUnused(recordPage: roots.number)
    if walk.missingPageCount() > 0 { walk.note(roots.file.pageCount, .beyondFile) }
    progress(total, total)
    return walk.problems
  }

  /// Checks what every use of the file needs: the meta pages, the free list, the table of tables; and that the file
  /// is as long as they say. Says whether it is shorter, but misses free pages only, which LMDB may leave unwritten.
  ///
  /// - Throws: `.notAStore`, `.versionMismatch`, `.damagedPage`, `.truncatedFile`.
  static func checkRoots(_ descriptor: Int32, _ path: String) throws(LMDBError) -> Bool {
    var attempt = 1
    while true {
      guard let roots = try Roots(descriptor, path, transactionID: nil) else { return false }
      do throws(LMDBError) {
        return try checkRoots(roots)
      } catch {
        attempt += 1
        let isOutdated = try roots.isOutdated(descriptor, path)
        if !isOutdated || attempt > attemptsMax { throw error }
      }
    }
  }

  private static func checkRoots(_ roots: Roots) throws(LMDBError) -> Bool {
    let path = roots.file.path
    if let problem = roots.problem { throw damaged(problem, path) }
    let isShort = roots.file.pageCount <= roots.meta.lastPage
    var walk = PageWalk(file: roots.file, meta: roots.meta)
    try walk.walk(roots.meta.freeList, role: .freeList, recordPage: roots.number)
    try walk.walk(roots.meta.tables, role: .tables, recordPage: roots.number)
    walk.checkFreePagesUnused(recordPage: roots.number)
    if isShort {
      let missing = walk.missingPageCount()
      let reachesBeyond = walk.problems.contains {
        $0.kind == .beyondFile || $0.kind == .wrongOverflow
      }
      if missing > 0 || reachesBeyond {
        let expected = (roots.meta.lastPage + 1) * UInt64(roots.file.pageBytes)
        throw LMDBError(
          code: .truncatedFile, call: "pread", path: path,
          message: "the data file should have \(expected) bytes, and pages are missing at its end")
      }
    }
    if let problem = walk.problems.first { throw damaged(problem, path) }
    return isShort
  }

  private static func damaged(_ problem: PageProblem, _ path: String) -> LMDBError {
    LMDBError(code: .damagedPage, call: "pread", path: path, message: "the data file is damaged: \(problem)")
  }
}
