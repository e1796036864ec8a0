import OperationFormat

/// Taking away many heads of a cell in many commits.
extension Fold {
  /// Takes away, some at a time, heads of a cell that are stored apart and that an operation has seen, where there are many and the
  /// operation can be paused: one edit of the cell would take them all.
  @inline(__always)
  mutating func thin(_ path: CellPath, at index: UInt32) throws {
    if bound.rule == .pauses { try thinMany(path, at: index) }
  }

  @inline(never)
  private mutating func thinMany(_ path: CellPath, at index: UInt32) throws {
    if path.cell == .existence, plainExistence() != nil { return }
    let prefix = try headKey(of: path)
    guard var first = firstKey(under: prefix) else { return }
    // It says nothing of what follows.
    bound.next = nil
    let count = try apartCount(of: path)
    guard count >= bound.rowsAtOnce else { return }
    var apart = try apartHeads(of: path, count: count)
    let runs = try seenRuns(at: index, of: &apart)?.sorted(by: <)
    var seen: [HeadID] = []
    for place in 0..<(runs?.count ?? 1) {
      let end: ElementKey?
      if let runs {
        let keys = try keys(of: runs[place], in: path)
        guard first < keys.upperBound else { continue }
        (first, end) = (max(first, keys.lowerBound), keys.upperBound)
      } else {
        end = nil
      }
      var next: ElementKey? = first
      while let from = next {
        let rows = try someRows(under: prefix, from: from, before: end) { _, row in
          let head = try OwnedHead(apart: row).head.id
          return try removes(.seen(at: index), head) ? head : nil
        }
        seen += rows.found
        next = rows.next
        try bound.count(looked: 1 + rows.looked)
        // Few go with the cell's one edit.
        guard seen.count >= bound.rowsAtOnce || bound.isSpent, let rest = next ?? end else { continue }
        for head in seen { try remove(head, of: path) }
        seen.removeAll(keepingCapacity: true)
        try bound.pauseIfSpent(at: rest)
      }
      if let end { first = end }
    }
  }

  /// How many heads of a cell are stored apart.
  private mutating func apartCount(of path: CellPath) throws -> Int {
    var heads = InlineHeads()
    if path.element == nil {
      let place = try place(of: path.cell)
      heads = try RecordLayout.heads(of: place.body, in: row.span.bytes)
    } else if let name = path.element {
      let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: name)
      guard let row = try storage.readElement(key) else { return 0 }
      heads = try RecordLayout.heads(of: ElementRow.heads(of: row.span.bytes), in: row.span.bytes)
    }
    return heads.total - heads.count
  }

  private mutating func remove(_ head: HeadID, of path: CellPath) throws {
    if path.element == nil {
      try replace(path.cell, removing: .head(head), adding: nil)
    } else {
      try replaceElement(path, RawSpan(), .head(head), nil, RawSpan())
    }
  }
}

/// Heads of one replica's epoch that may be stored apart: those that its operations made from one sequence up to a place in another.
struct HeadRun {
  var replica: ReplicaNumber
  var epoch: UInt32
  var first: UInt64
  var end: UInt64
  var endIndex: UInt32

  init(replica: ReplicaNumber, epoch: UInt32, first: UInt64, end: UInt64, endIndex: UInt32) {
    (self.replica, self.epoch) = (replica, epoch)
    (self.first, self.end, self.endIndex) = (first, end, endIndex)
  }

  /// All that transactions made.
  init(replica: ReplicaNumber, epoch: UInt32, _ sequences: ClosedRange<UInt64>) {
    let last = sequences.upperBound
    self.init(
      replica: replica, epoch: epoch, first: sequences.lowerBound, end: last == .max ? .max : last + 1,
      endIndex: 0)
  }

  /// In the order of their keys.
  static func < (a: HeadRun, b: HeadRun) -> Bool {
    (a.replica, a.epoch, a.first) < (b.replica, b.epoch, b.first)
  }
}
