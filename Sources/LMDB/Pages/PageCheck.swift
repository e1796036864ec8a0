/// Checks the structure of a data file's pages, which LMDB itself trusts. It reads the file without a map, so
/// that damage cannot end the process. It takes no locks.
///
/// It checks only the structure. A flipped bit inside a value is found by that value's own checksum.
package enum PageCheck {
  /// How often a check starts again because other processes wrote meanwhile.
  private static let attemptsMax = 10

  /// Checks the whole file: the free list, the table of tables and all tables.
  ///
  /// If others write at the same time, begin a read transaction, and pass its id at once: it keeps the pages
  /// from being reused. Without one, a check that finds problems starts again if others wrote meanwhile.
  ///
  /// - Parameters:
  ///   - directory: the directory of `data.mdb`.
  ///   - transactionID: the state to check; nil for the newest.
  ///   - tables: the tables to check, besides the free list and the table of tables; nil for all.
  ///   - progress: called from time to time with the number of pages checked, and the number of all pages.
  /// - Returns: at most 1,000 problems; none if the file is sound or empty.
  /// - Throws: `.notAStore`, `.versionMismatch`; `.badTransaction` if that state's meta page was overwritten.
  /// - Complexity: reads each used page once; takes one bit of memory for each page, and 8 bytes for each
  ///   free page.
  package static func check(
    directory: String, transactionID: UInt64? = nil, tables: [String]? = nil,
    progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
  ) throws(LMDBError) -> [PageProblem] {
    let path = directory + "/data.mdb"
    let descriptor = try SystemCalls.open(path, readOnly: true, creates: false).descriptor
    defer { SystemCalls.close(descriptor) }
    for _ in 1..<attemptsMax {
      guard let roots = try Roots(descriptor, path, transactionID: transactionID) else { return [] }
      let problems = try checkAll(roots, tables, progress)
      if problems.isEmpty || transactionID != nil { return problems }
      let isOutdated = try roots.isOutdated(descriptor, path)
      if !isOutdated { return problems }
    }
    throw LMDBError(
      code: .busy, call: "pread", path: path, message: "others write faster than the file can be checked",
      hint: "Check with a read transaction held")
  }

  private static func checkAll(
    _ roots: Roots, _ tables: [String]?, _ progress: @escaping (UInt64, UInt64) -> Void
  ) throws(LMDBError) -> [PageProblem] {
    if let problem = roots.problem { return [problem] }
    var walk = PageWalk(file: roots.file, meta: roots.meta)
    let total = min(roots.file.pageCount, roots.meta.lastPage + 1)
    walk.progress = { progress($0, total) }
    try walk.walk(roots.meta.freeList, role: .freeList, recordPage: roots.number)
    try walk.walk(roots.meta.tables, role: .tables, recordPage: roots.number)
    let names = tables?.map { Array($0.utf8) }
    for (name, page, record) in walk.tableRecords where names?.contains(name) ?? true {
      try walk.walk(record, role: .entries, recordPage: page)
    }
    walk.checkFreePagesUnused(recordPage: roots.number)
    if walk.missingPageCount() > 0 { walk.note(roots.file.pageCount, .beyondFile) }
    progress(total, total)
    return walk.problems
  }

  /// Checks what every use of the file needs: the meta pages, the free list, the table of tables, and that
  /// the file is as long as they say. Returns whether the file is shorter but only free pages are missing:
  /// LMDB may leave those unwritten.
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

  /// The most pages of a file whose first transaction is not on the disk yet.
  private static let unfinishedPagesMax = 8

  /// Whether a crash interrupted the creation of a data file: it is empty; or it is small, a meta page is
  /// missing or incomplete, and no meta page has a transaction.
  static func isUnfinished(directory: String) throws(LMDBError) -> Bool {
    let path = directory + "/data.mdb"
    let descriptor = try SystemCalls.open(path, readOnly: true, creates: false).descriptor
    defer { SystemCalls.close(descriptor) }
    let status = try SystemCalls.status(of: descriptor, path)
    guard status.isRegular else { return false }
    if status.bytes == 0 { return true }
    let pageBytes = SystemCalls.memoryPageBytes
    guard status.bytes <= unfinishedPagesMax * pageBytes else { return false }
    guard let bytes = try PageFile.read(descriptor, at: 0, count: status.bytes, path) else { return false }
    var hasGap = status.bytes < 2 * pageBytes
    for number in 0..<2 {
      let head = bytes.dropFirst(number * pageBytes).prefix(MetaPage.byteCount)
      if head.allSatisfy({ $0 == 0 }) {
        hasGap = true
        continue
      }
      guard case .meta(let meta) = MetaPage.read(head.span.bytes, number: UInt64(number)),
        meta.transactionID == 0
      else { return false }
    }
    return hasGap
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

  /// Checks as much of a state's structure as `pagesMax` allows. LMDB trusts its pages, and an impossible one
  /// would end the process.
  ///
  /// The smallest tables come first, with all their pages. Of a table that is larger than the rest of the
  /// bound, the branch pages are checked, because every write passes through them to its leaf. It also checks
  /// that no page in use is on the free list: the next write would overwrite that page.
  ///
  /// - Parameters:
  ///   - transactionID: the state; a read transaction must hold it.
  ///   - pagesMax: the most pages to read, besides the free list and the table of tables.
  /// - Throws: `.damagedPage`; `.badTransaction` if that state's meta page was overwritten.
  /// - Complexity: linear in the pages read, and the free pages.
  static func checkStructure(
    _ descriptor: Int32, _ path: String, transactionID: UInt64, pagesMax: UInt64
  ) throws(LMDBError) {
    guard let roots = try Roots(descriptor, path, transactionID: transactionID) else { return }
    if let problem = roots.problem { throw damaged(problem, path) }
    var walk = PageWalk(file: roots.file, meta: roots.meta)
    try walk.walk(roots.meta.freeList, role: .freeList, recordPage: roots.number)
    try walk.walk(roots.meta.tables, role: .tables, recordPage: roots.number)
    let trees = walk.tableRecords.sorted { $0.record.pageCount < $1.record.pageCount }
    // The branch pages of the tables that are not checked yet.
    var reserved = trees.reduce(into: UInt64(0)) { $0 = $0.addingSaturated($1.record.branchPages) }
    var left = pagesMax
    for (_, page, record) in trees {
      reserved -= min(reserved, record.branchPages)
      let branchesAlone = record.pageCount.addingSaturated(reserved) > left
      let needed = branchesAlone ? record.branchPages : record.pageCount
      guard needed <= left else { continue }
      left -= needed
      try walk.walk(record, role: .entries, recordPage: page, branchesAlone: branchesAlone)
    }
    walk.checkFreePagesUnused(recordPage: roots.number)
    if let problem = walk.problems.first { throw damaged(problem, path) }
  }

  private static func damaged(_ problem: PageProblem, _ path: String) -> LMDBError {
    LMDBError(code: .damagedPage, call: "pread", path: path, message: "the data file is damaged: \(problem)")
  }
}
