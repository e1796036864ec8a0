import LMDB
import OperationFormat

/// Reads the entries of an index in a zone that may fulfil the conditions of a query.
struct IndexScan {
  let use: IndexUse
  let view: ReadView
  let zone: ZoneID
  let state: StateNumber

  init(_ use: IndexUse, _ view: ReadView, _ zone: ZoneID) throws {
    (self.use, self.view, self.zone) = (use, view, zone)
    state = try view.state(of: zone)
  }

  /// The keys of the entries that may fulfil the conditions, in the order in which they are read.
  ///
  /// - Parameter place: only what may come after it in the order.
  func keys(after place: QueryPlace? = nil) -> [IndexKeys] {
    let all = use.keys(in: state, of: zone)
    guard let place else { return all }
    return all.map { use.keys($0, after: place, in: zone) }
  }

  /// The keys of the entries of records that have too many values, which are in no order; none if there are
  /// none.
  var overfull: [IndexKeys] {
    get throws {
      let prefix = IndexEntry.prefix(state, use.index.number) + [IndexEntry.overfullByte]
      guard use.parts.contains(where: \.hasSeveral) else { return [] }
      view.footprint?.note(from: prefix, to: prefix + [255])
      guard try view.indexes.hasEntry(under: prefix) else { return [] }
      return [IndexKeys(lower: prefix, upper: prefix + [255])]
    }
  }

  /// Calls a closure with the entries, in the order of the index, or backwards, until it returns false. Those
  /// of the same values come in the order of names.
  func forEachEntry(in keys: IndexKeys, _ body: (borrowing IndexEntryView) throws -> Bool) throws {
    if keys.isEmpty { return }
    if use.isReverse == true { try backwards(keys, body) } else { try forwards(keys, body) }
  }

  /// Counts the entries that say all of their records.
  ///
  /// - Returns: how many, at most some; whether there are others.
  func countPlain(in keys: IndexKeys, max: Int) throws -> (count: Int, hasOthers: Bool) {
    guard let table = view.tables.indexes, !keys.isEmpty else { return (0, false) }
    var found: (count: Int, hasOthers: Bool) = (0, false)
    let upper = keys.upper.span.bytes
    view.footprint?.note(from: keys.lower, to: keys.upper)
    try view.transaction.forEachEntry(
      in: table, from: keys.lower.span.bytes, within: keys.ofIndex
    ) { key, row in
      guard found.count < max, compareBytes(key, upper) < 0 else { return false }
      if row.byteCount == 1 { found.count += 1 } else { found.hasOthers = true }
      return true
    }
    return found
  }

  private func forwards(_ keys: IndexKeys, _ body: (borrowing IndexEntryView) throws -> Bool) throws {
    guard let table = view.tables.indexes else { return }
    if view.footprint == nil {
      return try view.transaction.forEachEntry(
        in: table, from: keys.lower.span.bytes, within: keys.ofIndex
      ) { key, row in
        try compareBytes(key, keys.upper.span.bytes) < 0 && body(IndexEntryView(key, row))
      }
    }
    var last: [UInt8]?
    try view.transaction.forEachEntry(in: table, from: keys.lower.span.bytes) { key, row in
      guard compareBytes(key, keys.upper.span.bytes) < 0 else { return false }
      let wantsMore = try body(IndexEntryView(key, row))
      if !wantsMore { last = key.bytes }
      return wantsMore
    }
    view.footprint?.note(from: keys.lower, to: last ?? keys.upper, isClosed: last != nil)
  }

  private func backwards(_ keys: IndexKeys, _ body: (borrowing IndexEntryView) throws -> Bool) throws {
    guard let table = view.tables.indexes else { return }
    var lowest = keys.lower
    defer { view.footprint?.note(from: lowest, to: keys.upper) }
    var cursor = try view.transaction.openCursor(table, within: keys.ofIndex)
    var isThere = try cursor.seek(before: keys.upper.span.bytes)
    while isThere {
      // The last entry of its values.
      let (key, row) = cursor.withEntry { ($0.bytes, $1.bytes) }
      guard !key.lexicographicallyPrecedes(keys.lower) else { return }
      let last = try IndexEntryView(key.span.bytes, row.span.bytes)
      isThere = try cursor.previous()
      let group = last.group.bytes
      // What is before may be of another index, or no entry.
      let isOnly =
        try !isThere
        || cursor.withEntry { key, row in
          try !key.hasPrefix(group) || !equalBytes(IndexEntryView(key, row).group, last.group)
        }
      if isOnly {
        guard try body(last) else {
          lowest = group
          return
        }
        continue
      }
      let first = group + [0]
      let resume =
        keys.resume.flatMap { $0.starts(with: group) && $0.count > group.count ? $0 : nil } ?? first
      isThere = try cursor.seek(atOrAfter: resume.span.bytes)
      while isThere {
        let wants = try cursor.withEntry { key, row -> Bool? in
          let entry = try IndexEntryView(key, row)
          guard equalBytes(entry.group, last.group) else { return nil }
          return try body(entry)
        }
        guard let wants else { break }
        if !wants {
          lowest = group
          return
        }
        isThere = try cursor.next()
      }
      isThere = try cursor.seek(before: first.span.bytes)
    }
  }
}

extension IndexUse {
  /// The values of the parts in a key, nil if they are cut; and where those end that decide the order, nil if
  /// these are.
  func values(
    in entry: borrowing IndexEntryView, of zone: ZoneID
  ) -> (values: [Value]?, orderEnd: Int?) {
    var reader = OrderedReader(entry.group, at: IndexEntry.prefixBytes, in: zone)
    var values: [Value] = []
    var orderEnd: Int?
    if orderedParts == 0 { orderEnd = IndexEntry.prefixBytes }
    for part in parts {
      reader.mask = part.isDescending ? 255 : 0
      guard let value = reader.value() else { return (nil, orderEnd) }
      values.append(value)
      if values.count == orderedParts { orderEnd = reader.position }
    }
    return (entry.flags.contains(.isCut) ? nil : values, orderEnd)
  }
}
