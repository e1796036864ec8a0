/// Walks the trees of one state of a data file, and notes the problems. It never traps, whatever the bytes
/// are: it checks everything before it uses it, enters no page twice, and follows no tree deeper than LMDB
/// can go.
struct PageWalk {
  let file: PageFile
  let meta: MetaPage

  /// The problems found, at most `problemsMax`.
  private(set) var problems: [PageProblem] = []

  /// The records of the tables, ordered by name; names are in UTF-8.
  private(set) var tableRecords: [(name: [UInt8], page: UInt64, record: TreeRecord)] = []

  /// The numbers of the free pages.
  private(set) var freePages: [UInt64] = []

  /// Called with the number of pages checked.
  var progress: (UInt64) -> Void = { _ in }

  private var visited: PageSet
  private(set) var visitedCount: UInt64 = 0

  private var packing = PagePacking()

  /// How many of the tree's lowest levels are skipped.
  private var levelsSkipped = 0

  /// The most problems to list; more of them tell nothing new.
  static let problemsMax = 1000

  /// The longest key in bytes (MDB_MAXKEYSIZE).
  private static let keyBytesMax = 511

  /// What a tree's entries contain.
  enum Role {
    case freeList, tables, entries
  }

  /// What a walk has counted in a tree.
  private struct Counts: Equatable {
    var branchPages: UInt64 = 0
    var leafPages: UInt64 = 0
    var overflowPages: UInt64 = 0
    var entries: UInt64 = 0
  }

  init(file: PageFile, meta: MetaPage) {
    self.file = file
    self.meta = meta
    visited = PageSet(count: min(file.pageCount, meta.lastPage + 1))
    _ = visited.insert(0)
    _ = visited.insert(1)
  }

  /// Whether the list of problems is full.
  var isFull: Bool { problems.count >= Self.problemsMax }

  /// Walks a tree and compares it with its record, which is on the page `recordPage`.
  ///
  /// - Parameter branchesAlone: whether to skip the leaves, and the pages of long values.
  mutating func walk(
    _ record: TreeRecord, role: Role, recordPage: UInt64, branchesAlone: Bool = false
  ) throws(LMDBError) {
    if record.isEmpty { return }
    var counts = Counts()
    let problemCount = problems.count
    levelsSkipped = branchesAlone ? 1 : 0
    try walk(record.root, level: 1, depth: Int(record.depth), role, lower: nil, upper: nil, &counts)
    var expected = Counts(branchPages: record.branchPages)
    if !branchesAlone {
      expected.leafPages = record.leafPages
      expected.overflowPages = record.overflowPages
      expected.entries = record.entries
    }
    // If pages were skipped because of their problems, the counts are wrong in any case.
    if problems.count == problemCount && counts != expected { note(recordPage, .wrongCount) }
  }

  /// Notes a problem.
  mutating func note(_ page: UInt64, _ kind: PageProblem.Kind) {
    if !isFull { problems.append(PageProblem(page: page, kind: kind)) }
  }

  /// Walks a page and the pages below it. Keys must be at least `lower` and less than `upper`.
  private mutating func walk(
    _ page: UInt64, level: Int, depth: Int, _ role: Role, lower: Key?, upper: Key?,
    _ counts: inout Counts
  ) throws(LMDBError) {
    if isFull || level > depth - levelsSkipped { return }
    guard let bytes = try enter(page) else { return }
    let header = PageHeader(bytes.span.bytes)
    let isLeaf = level == depth
    if header.number != page { return note(page, .wrongNumber) }
    if header.flags != (isLeaf ? PageHeader.leaf : PageHeader.branch) {
      let isTree = header.flags == PageHeader.leaf || header.flags == PageHeader.branch
      return note(page, isTree ? .wrongDepth : .wrongKind)
    }
    guard let nodes = nodes(of: page, bytes, header, isLeaf: isLeaf, role) else { return }
    if !areOrdered(nodes, bytes, isLeaf: isLeaf, role, lower, upper) { return note(page, .keysOutOfOrder) }
    if isLeaf {
      counts.leafPages += 1
      counts.entries += UInt64(nodes.count)
      for node in nodes { try checkValue(node, on: page, bytes, role, &counts) }
    } else {
      counts.branchPages += 1
      for (index, node) in nodes.enumerated() {
        let isLast = index + 1 == nodes.count
        try walk(
          node.child, level: level + 1, depth: depth, role,
          lower: index == 0 ? lower : key(node, bytes), upper: isLast ? upper : key(nodes[index + 1], bytes),
          &counts)
      }
    }
  }

  /// Marks pages as reached and reads them. Notes a problem and returns nil if that is impossible.
  private mutating func enter(_ page: UInt64) throws(LMDBError) -> [UInt8]? {
    guard page <= meta.lastPage, let bytes = try file.read(page) else {
      note(page, .beyondFile)
      return nil
    }
    guard visited.insert(page) else {
      note(page, .reachedTwice)
      return nil
    }
    visitedCount += 1
    if visitedCount % 1024 == 0 { progress(visitedCount) }
    return bytes
  }

  /// The entries of a page. Notes a problem and returns nil if an entry is impossible.
  private mutating func nodes(
    of page: UInt64, _ bytes: [UInt8], _ header: PageHeader, isLeaf: Bool, _ role: Role
  ) -> [PageNode]? {
    let lower = Int(header.lower)
    let upper = Int(header.upper)
    guard lower >= PageHeader.byteCount, lower % 2 == 0, lower <= upper, upper <= file.pageBytes else {
      note(page, .wrongBounds)
      return nil
    }
    // The free list may have a branch page with one child: LMDB's own assertion allows it.
    guard header.entryCount >= (isLeaf || role == .freeList ? 1 : 2) else {
      note(page, .tooFewEntries)
      return nil
    }
    let span = bytes.span.bytes
    var nodes: [PageNode] = []
    // LMDB packs entries end to end, each at an even place, and moves them by their sizes: one wrong size would make
    // it write elsewhere.
    packing.clear()
    for index in 0..<header.entryCount {
      let offset = Int(span.number(at: PageHeader.byteCount + 2 * index, as: UInt16.self))
      guard offset >= upper, let node = PageNode(span, at: offset, pageBytes: file.pageBytes) else {
        note(page, .nodeOutsidePage)
        return nil
      }
      let end = isLeaf ? node.valueStart + node.inlineValueBytes : node.valueStart
      if isLeaf, let kind = problem(of: node, role) {
        note(page, kind)
        return nil
      }
      if end > file.pageBytes || node.keyBytes > Self.keyBytesMax {
        note(page, end > file.pageBytes ? .nodeOutsidePage : .wrongKeySize)
        return nil
      }
      packing.add(offset..<end)
      nodes.append(node)
    }
    guard packing.isWhole(from: upper, to: file.pageBytes) else {
      note(page, .nodesOverlap)
      return nil
    }
    return nodes
  }

  /// The problem of a leaf's entry, as far as its header shows.
  private func problem(of node: PageNode, _ role: Role) -> PageProblem.Kind? {
    switch (role, node.flags) {
    case (_, 0), (_, PageNode.long): break
    case (.tables, PageNode.table):
      if node.valueBytes != TreeRecord.byteCount { return .wrongTableRecord }
    default: return .wrongNodeFlags
    }
    if role == .freeList { return node.keyBytes == 8 ? nil : .wrongKeySize }
    return (1...Self.keyBytesMax).contains(node.keyBytes) ? nil : .wrongKeySize
  }

  /// A key's bytes, as a slice of the page.
  private typealias Key = ArraySlice<UInt8>

  private func key(_ node: PageNode, _ bytes: [UInt8]) -> Key {
    bytes[node.keyStart..<node.valueStart]
  }

  private func areOrdered(
    _ nodes: [PageNode], _ bytes: [UInt8], isLeaf: Bool, _ role: Role, _ lower: Key?, _ upper: Key?
  ) -> Bool {
    var previous: Key?
    // The first key of a branch page has no meaning: its child has all keys that are less than the second.
    for node in nodes.dropFirst(isLeaf ? 0 : 1) {
      let key = key(node, bytes)
      if let previous, !isLess(previous, key, role) { return false }
      if previous == nil, let lower, isLess(key, lower, role) { return false }
      previous = key
    }
    guard let previous, let upper else { return true }
    return isLess(previous, upper, role)
  }

  /// The keys of the free list are numbers; one with a wrong size counts as out of order.
  private func isLess(_ left: Key, _ right: Key, _ role: Role) -> Bool {
    if role != .freeList { return left.lexicographicallyPrecedes(right) }
    guard left.count == 8, right.count == 8 else { return false }
    return left.span.bytes.number(at: 0, as: UInt64.self) < right.span.bytes.number(at: 0, as: UInt64.self)
  }

  /// Checks what a leaf's entry refers to: the pages of a long value, a table's record, or a list of free
  /// pages.
  private mutating func checkValue(
    _ node: PageNode, on page: UInt64, _ bytes: [UInt8], _ role: Role, _ counts: inout Counts
  ) throws(LMDBError) {
    var long: [UInt8]?
    if node.flags == PageNode.long {
      let first: UInt64 = bytes.span.bytes.number(at: node.valueStart)
      long = try longValue(first, byteCount: node.valueBytes, isRead: role == .freeList, &counts)
      if long == nil { return }
    }
    switch role {
    case .entries: break
    case .tables:
      guard node.flags == PageNode.table else { break }
      let record = TreeRecord(bytes.span.bytes, at: node.valueStart)
      if !record.isPossible || record.flags != 0 || record.pad != 0 { return note(page, .wrongTableRecord) }
      tableRecords.append((Array(key(node, bytes)), page, record))
    case .freeList:
      let value = long ?? Array(bytes[node.valueStart..<node.valueStart + node.valueBytes])
      if !addFreePages(value) { note(page, .wrongFreeList) }
    }
  }

  /// Checks the pages of a long value. Returns its bytes if they are needed, else no bytes; nil if there is a
  /// problem.
  private mutating func longValue(
    _ first: UInt64, byteCount: Int, isRead: Bool, _ counts: inout Counts
  ) throws(LMDBError) -> [UInt8]? {
    guard let head = try enter(first) else { return nil }
    let header = PageHeader(head.span.bytes)
    let needed = UInt64((PageHeader.byteCount - 1 + byteCount) / file.pageBytes + 1)
    let count = UInt64(header.pageCount)
    guard header.number == first else {
      note(first, .wrongNumber)
      return nil
    }
    // LMDB keeps all pages of a long value when it writes a shorter one over it.
    guard header.flags == PageHeader.overflow, count >= needed,
      count <= min(file.pageCount, meta.lastPage + 1) - first
    else {
      note(first, .wrongOverflow)
      return nil
    }
    for page in first + 1..<first + count where !visited.insert(page) {
      note(page, .reachedTwice)
      return nil
    }
    counts.overflowPages += count
    guard isRead else { return [] }
    guard let all = try file.read(first, count: Int(needed)) else { return nil }
    return Array(all[PageHeader.byteCount..<PageHeader.byteCount + byteCount])
  }

  /// Adds a list of free pages: its length, then their numbers, descending. Returns false if it is no such
  /// list.
  private mutating func addFreePages(_ list: [UInt8]) -> Bool {
    guard list.count >= 8 else { return false }
    let span = list.span.bytes
    let count: UInt64 = span.number(at: 0)
    guard count <= UInt64(list.count / 8 - 1) else { return false }
    var previous = meta.lastPage + 1
    for index in 0..<Int(count) {
      let page: UInt64 = span.number(at: 8 + 8 * index)
      guard page >= 2, page < previous else { return false }
      freePages.append(page)
      previous = page
    }
    return true
  }

  /// Notes free pages that are used, or free twice. Call it after all trees were walked.
  mutating func checkFreePagesUnused(recordPage: UInt64) {
    // A flipped bit can make the last page's number huge, so the memory is limited by the size of the file.
    var met = PageSet(count: min(file.pageCount, meta.lastPage + 1))
    var metBeyond: Set<UInt64> = []
    for page in freePages {
      let isNew = page < file.pageCount ? met.insert(page) : metBeyond.insert(page).inserted
      if !isNew { note(page, .wrongFreeList) }
      if visited.contains(page) { note(page, .reachedTwice) }
    }
  }

  /// How many pages at the end of the state are missing: they are neither in the file nor free.
  func missingPageCount() -> UInt64 {
    let end = meta.lastPage + 1
    if file.pageCount >= end { return 0 }
    let free = Set(freePages.filter { $0 >= file.pageCount })
    return end - file.pageCount - UInt64(free.count)
  }
}
