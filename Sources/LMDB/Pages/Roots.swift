/// The state of a data file that a check reads, found through the two meta pages.
struct Roots {
  /// The file, with the page size from the meta pages.
  let file: PageFile

  /// The meta page of the state.
  let meta: MetaPage

  /// The number of that meta page: 0 or 1.
  let number: UInt64

  /// The problem of the meta pages, if they can be read but are inconsistent.
  let problem: PageProblem?

  /// Reads both meta pages, and takes the newer, or that of the given transaction. Returns nil for an empty
  /// file.
  ///
  /// - Throws: `.notAStore`, `.versionMismatch`, `.damagedPage`, `.badTransaction`.
  init?(_ descriptor: Int32, _ path: String, transactionID: UInt64?) throws(LMDBError) {
    if SystemCalls.bytes(of: descriptor) == 0 { return nil }
    let (first, second) = try Self.metas(descriptor, path)
    // Read after the meta pages, since a writer writes those last.
    let pageCount = SystemCalls.bytes(of: descriptor) / first.pageBytes
    file = PageFile(
      descriptor: descriptor, path: path, pageBytes: first.pageBytes, pageCount: UInt64(pageCount))
    // LMDB too takes the first if both are equal.
    number = transactionID.map { $0 & 1 } ?? (second.transactionID > first.transactionID ? 1 : 0)
    meta = number == 0 ? first : second
    if let transactionID, meta.transactionID != transactionID {
      throw LMDBError(
        code: .badTransaction, call: "pread", path: path,
        message: "a later transaction has overwritten the meta page of transaction \(transactionID)",
        hint: "Begin a read transaction, and check immediately afterwards")
    }
    let (low, high) = (
      min(first.transactionID, second.transactionID), max(first.transactionID, second.transactionID)
    )
    // Transaction n overwrites the page of transaction n − 2. In a new file both are 0.
    let areNeighbours = high == 0 || high == low + 1
    let isPossible = areNeighbours && meta.isPossible(number: number) && first.pageBytes == second.pageBytes
    problem = isPossible ? nil : PageProblem(page: number, kind: .metaFields)
  }

  /// Whether others have written since, so that pages of this state may have new contents.
  func isOutdated(_ descriptor: Int32, _ path: String) throws(LMDBError) -> Bool {
    let now = try Roots(descriptor, path, transactionID: nil)
    return now?.meta != meta
  }

  /// How often the meta pages are read again because others wrote meanwhile.
  private static let attemptsMax = 1000

  /// Reads both meta pages as they are at one moment: others may write between two reads, or during one.
  private static func metas(
    _ descriptor: Int32, _ path: String
  ) throws(LMDBError) -> (first: MetaPage, second: MetaPage) {
    var before: (first: MetaPage, second: MetaPage)?
    for _ in 0..<attemptsMax {
      let first = try firstMeta(descriptor, path)
      let second = try secondMeta(descriptor, path, pageBytes: first.pageBytes)
      if let before, before == (first, second) { return before }
      before = (first, second)
    }
    throw LMDBError(
      code: .busy, call: "pread", path: path, message: "others write faster than the meta pages can be read")
  }

  private static func firstMeta(_ descriptor: Int32, _ path: String) throws(LMDBError) -> MetaPage {
    guard let bytes = try PageFile.read(descriptor, at: 0, count: MetaPage.byteCount, path) else {
      throw LMDBError(code: .notAStore, call: "pread", path: path)
    }
    switch MetaPage.read(bytes.span.bytes, number: 0) {
    case .meta(let meta): return meta
    case .otherVersion(let version): throw mismatch(version, path)
    case .damaged: throw damaged(0, path)
    case .noMagic:
      // If the second meta page can be found, the first one is damaged; else this is no LMDB file.
      for shift in 9...15 {
        let other = try PageFile.read(descriptor, at: 1 << shift, count: MetaPage.byteCount, path)
        if let other, case .meta = MetaPage.read(other.span.bytes, number: 1) { throw damaged(0, path) }
      }
      throw LMDBError(code: .notAStore, call: "pread", path: path)
    }
  }

  private static func secondMeta(
    _ descriptor: Int32, _ path: String, pageBytes: Int
  ) throws(LMDBError) -> MetaPage {
    guard let bytes = try PageFile.read(descriptor, at: pageBytes, count: pageBytes, path) else {
      throw LMDBError(
        code: .truncatedFile, call: "pread", path: path,
        message: "the data file ends inside its second page of \(pageBytes) bytes")
    }
    switch MetaPage.read(bytes.span.bytes, number: 1) {
    case .meta(let meta): return meta
    case .otherVersion(let version): throw mismatch(version, path)
    case .damaged, .noMagic: throw damaged(1, path)
    }
  }

  private static func mismatch(_ version: UInt32, _ path: String) -> LMDBError {
    LMDBError(
      code: .versionMismatch, call: "pread", path: path,
      message: "the file has version \(version) of LMDB's format, not 1")
  }

  private static func damaged(_ page: UInt64, _ path: String) -> LMDBError {
    LMDBError(
      code: .damagedPage, call: "pread", path: path,
      message: "the data file is damaged: \(PageProblem(page: page, kind: .metaFields))")
  }
}
