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
  ///   - tables: the tables to check, besides the free list and the table of tables; all if nil.
  ///   - progress: called from time to time with how many pages were looked at, and of how many.
  /// - Returns: at most 1,000 problems; none for a sound file or one that is empty.
  /// - Throws: `.notAStore`, `.versionMismatch`; `.badTransaction` if that state's meta page has been written over.
  /// - Complexity: reads each used page once; memory is one bit a page, and 8 bytes a free page.
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

  /// A file that is being made has at most so many pages before its first transaction is on the disk.
  private static let unfinishedPagesMax = 8

  /// Whether a data file's making was cut short: it is empty, or it is small, one of its meta pages is not there or not
  /// whole, and none that is there has a transaction.
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

  /// Checks as much of a state's structure as a bound allows, so that LMDB, which trusts its pages, meets no page that
  /// would end the process: of each table all pages, the smallest tables first; of a table that is too large for what
  /// is left of the bound its branch pages, from which every write goes down to its leaf. Also that no page in use is
  /// on the free list, where the next write would take it.
  ///
  /// - Parameters:
  ///   - transactionID: the state, held by a read transaction.
  ///   - pagesMax: how many pages are read at most, besides the free list and the table of tables.
  /// - Throws: `.damagedPage`; `.badTransaction` if that state's meta page has been written over.
  /// - Complexity: linear in the pages that are read, and the free pages.
  static func checkStructure(
    _ descriptor: Int32, _ path: String, transactionID: UInt64, pagesMax: UInt64
  ) throws(LMDBError) {
    guard let roots = try Roots(descriptor, path, transactionID: transactionID) else { return }
    if let problem = roots.problem { throw damaged(problem, path) }
    var walk = PageWalk(file: roots.file, meta: roots.meta)
    try walk.walk(roots.meta.freeList, role: .freeList, recordPage: roots.number)
    try walk.walk(roots.meta.tables, role: .tables, recordPage: roots.number)
    let trees = walk.tableRecords.sorted { $0.record.pageCount < $1.record.pageCount }
    // What the branch pages of the tables that are still to come take.
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
