/// Walks the entries of a table in the map, in the order of their keys. It does less for each entry than a cursor,
/// and asks the memory for the next leaf while it reads one.
///
/// A read transaction alone may use it: its pages do not change. ``Cursor`` is the general way, and the oracle of
/// this one.
@usableFromInline
struct EntryWalk: ~Copyable {
  private let transaction: TransactionState
  private let pageBytes: Int
  private let depth: Int
  /// The branch pages above the leaf, the root first, each with the place of the child in which the walk is.
  private var branches: [(page: Page, child: Int)] = []
  private var leaf = Page.none
  /// The place in the leaf of the next entry.
  private var index = 0
  /// What is left to be asked for of the next leaf.
  private var ahead: UnsafeRawPointer?
  private var linesAhead = 0
  private var linesForEach = 0

  private static let lineBytes = 64

  /// A walk from the first entry whose key is equal or greater.
  ///
  /// - Parameter tree: the record of the table in the transaction's state.
  init(
    _ tree: TreeRecord, from key: RawSpan, pageBytes: Int, in transaction: TransactionState
  ) throws(LMDBError) {
    self.transaction = transaction
    self.pageBytes = pageBytes
    depth = Int(tree.depth)
    guard !tree.isEmpty else { return }
    branches.reserveCapacity(depth)
    guard tree.isPossible else { throw transaction.damaged("the record of a table is impossible") }
    try descend(to: tree.root) { page throws(LMDBError) in
      var (low, high) = (0, page.count)
      // The first key of a branch page has no meaning.
      if !page.isLeaf { low = 1 }
      while low < high {
        let middle = (low + high) / 2
        let known = try Self.node(at: middle, of: page, transaction).key
        let order = key.withUnsafeBytes { Self.compare(known, $0) }
        if order < 0 || !page.isLeaf && order == 0 { low = middle + 1 } else { high = middle }
      }
      return page.isLeaf ? low : low - 1
    }
  }

  /// The next entry; nil at the end. Its bytes are valid as long as the transaction.
  @usableFromInline
  mutating func next() throws(LMDBError) -> Entry? {
    while index == leaf.count {
      guard try enterNextLeaf() else { return nil }
    }
    let node = try Self.node(at: index, of: leaf, transaction)
    index += 1
    askAhead()
    return Entry(key: node.key, value: try value(of: node))
  }

  // MARK: Pages

  /// A page whose header is as it must be.
  private struct Page {
    let bytes: UnsafeRawBufferPointer
    let isLeaf: Bool
    let count: Int

    /// The leaf of an empty table.
    static var none: Page {
      Page(bytes: UnsafeRawBufferPointer(start: nil, count: 0), isLeaf: true, count: 0)
    }
  }

  /// An entry of a page, with its key in the map.
  private struct Node {
    let node: PageNode
    let key: UnsafeRawBufferPointer
  }

  private func page(_ number: UInt64, level: Int) throws(LMDBError) -> Page {
    let bytes = try transaction.bytes(fromPage: number, pageBytes: pageBytes, count: pageBytes)
    let header = PageHeader(bytes.bytes)
    let isLeaf = level == depth
    guard header.number == number, header.flags == (isLeaf ? PageHeader.leaf : PageHeader.branch),
      Int(header.lower) <= pageBytes, header.entryCount > 0
    else { throw transaction.damaged("page \(number) is not the one that the tree has there") }
    return Page(bytes: bytes, isLeaf: isLeaf, count: header.entryCount)
  }

  @inline(__always)
  private static func node(
    at index: Int, of page: Page, _ transaction: TransactionState
  ) throws(LMDBError) -> Node {
    let span = page.bytes.bytes
    let offset: UInt16 = span.number(at: PageHeader.byteCount + 2 * index)
    guard let node = PageNode(span, at: Int(offset), pageBytes: page.bytes.count) else {
      throw transaction.damaged("an entry is not inside its page")
    }
    return Node(
      node: node, key: UnsafeRawBufferPointer(rebasing: page.bytes[node.keyStart..<node.valueStart]))
  }

  @inline(__always)
  private func value(of found: Node) throws(LMDBError) -> UnsafeRawBufferPointer {
    let node = found.node
    guard node.flags == 0, node.valueStart + node.valueBytes <= pageBytes else {
      return try longValue(of: node)
    }
    return UnsafeRawBufferPointer(
      rebasing: leaf.bytes[node.valueStart..<node.valueStart + node.valueBytes])
  }

  /// A value on pages of its own.
  @inline(never)
  private func longValue(of node: PageNode) throws(LMDBError) -> UnsafeRawBufferPointer {
    guard node.flags == PageNode.long, node.valueStart + node.inlineValueBytes <= pageBytes else {
      throw transaction.damaged("an entry is not inside its page")
    }
    let bytes = try transaction.bytes(
      fromPage: leaf.bytes.bytes.number(at: node.valueStart), pageBytes: pageBytes,
      count: PageHeader.byteCount + node.valueBytes)
    return UnsafeRawBufferPointer(rebasing: bytes[PageHeader.byteCount...])
  }

  private static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let order = zip(left, right).first { $0 != $1 }.map { $0 < $1 ? -1 : 1 }
    return order ?? left.count - right.count
  }

  // MARK: Moving

  /// Goes down from a page to a leaf.
  ///
  /// - Parameter place: which entry of a page is wanted.
  private mutating func descend(
    to number: UInt64, _ place: (Page) throws(LMDBError) -> Int
  ) throws(LMDBError) {
    var number = number
    while branches.count + 1 < depth {
      let branch = try page(number, level: branches.count + 1)
      let child = try place(branch)
      branches.append((branch, child))
      number = try Self.node(at: child, of: branch, transaction).node.child
    }
    leaf = try page(number, level: depth)
    index = try place(leaf)
    planAhead()
  }

  /// Goes to the leaf behind the present one; false if there is none.
  @inline(never)
  private mutating func enterNextLeaf() throws(LMDBError) -> Bool {
    _ = transaction.readable
    while let last = branches.popLast() {
      guard last.child + 1 < last.page.count else { continue }
      branches.append((last.page, last.child + 1))
      let child = try Self.node(at: last.child + 1, of: last.page, transaction).node.child
      try descend(to: child) { _ throws(LMDBError) in 0 }
      return true
    }
    return false
  }

  // MARK: Memory

  /// Finds the next leaf below the same branch page. What is wrong with it is said when it is entered.
  private mutating func planAhead() {
    ahead = nil
    guard let last = branches.last, last.child + 1 < last.page.count,
      let next = try? Self.node(at: last.child + 1, of: last.page, transaction),
      let bytes = try? transaction.bytes(fromPage: next.node.child, pageBytes: pageBytes, count: pageBytes)
    else { return }
    ahead = bytes.baseAddress
    linesAhead = pageBytes / Self.lineBytes
    linesForEach = linesAhead / leaf.count + 1
  }

  /// Asks the memory for a part of the next leaf.
  @inline(__always)
  private mutating func askAhead() {
    guard let start = ahead else { return }
    let count = min(linesForEach, linesAhead)
    for line in 0..<count { Calls.prefetch(start + line * Self.lineBytes) }
    linesAhead -= count
    ahead = linesAhead > 0 ? start + count * Self.lineBytes : nil
  }
}
