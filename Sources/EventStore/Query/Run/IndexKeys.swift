import OperationFormat

/// Keys of an index: from one on, to before another.
struct IndexKeys {
  var lower: [UInt8]
  var upper: [UInt8]
  /// Read backwards: the first key of its values that is left, if what comes before among these is not.
  var resume: [UInt8]?

  /// What all keys of the index begin with.
  var ofIndex: [UInt8] { Array(lower.prefix(IndexEntry.prefixBytes)) }

  var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }
}

extension IndexUse {
  /// The keys that may fulfil the conditions in a state, in the order in which they are read.
  func keys(in state: StateNumber, of zone: ZoneID) -> [IndexKeys] {
    let ordered = OrderedBytes(zone: zone)
    var starts = [IndexEntry.prefix(state, index.number)]
    for (part, values) in zip(parts, equal) {
      let encoded = values.map { part.encoded($0, ordered) }.sorted { $0.lexicographicallyPrecedes($1) }
      starts = starts.flatMap { start in encoded.map { start + $0 } }
    }
    let ranges = starts.map { start -> IndexKeys in
      guard let range else { return IndexKeys(lower: start, upper: start.successor).cut() }
      let part = parts[equal.count]
      let kind = OrderedBytes.tag(of: range.kind)
      var (lower, upper) = (start + [kind], start + [kind + 1])
      if part.isDescending { (lower, upper) = (start + [255 - kind], start + [255 - kind + 1]) }
      if let bound = range.lower.map({ self.bound($0, start, part, ordered) }) {
        if part.isDescending { upper = bound } else { lower = bound }
      }
      if let bound = range.upper.map({ self.bound($0, start, part, ordered) }) {
        if part.isDescending { lower = bound } else { upper = bound }
      }
      return IndexKeys(lower: lower, upper: upper).cut()
    }
    // Cut, those of several values may be the same.
    var different: [IndexKeys] = []
    for keys in ranges {
      if let last = different.last, keys.lower.lexicographicallyPrecedes(last.upper) {
        if last.upper.lexicographicallyPrecedes(keys.upper) {
          different[different.count - 1].upper = keys.upper
        }
      } else {
        different.append(keys)
      }
    }
    return isReverse == true ? different.reversed() : different
  }

  /// The key before which all smaller values of a part are.
  private func bound(
    _ bound: IndexRange.Bound, _ start: [UInt8], _ part: IndexPart, _ ordered: OrderedBytes
  ) -> [UInt8] {
    var writer = ByteWriter()
    ordered.append(bound.value, to: &writer)
    // Without what ends a text.
    if bound.isPrefix { writer.removeLast(OrderedBytes.endBytes) }
    if part.isDescending { writer.invert(from: 0) }
    let key = start + writer.bytes
    // Inverted, what was before a value is behind it.
    return bound.isBehind != part.isDescending ? key.successor : key
  }

  /// The keys that are left behind a place in the order.
  func keys(_ keys: IndexKeys, after place: QueryPlace, in zone: ZoneID) -> IndexKeys {
    var keys = keys
    let ordered = OrderedBytes(zone: zone)
    guard let orderFields else { return keys }
    // Only where all parts up to the last of the order have one value each.
    var start = Array(keys.lower.prefix(IndexEntry.prefixBytes))
    for (place, values) in equal.enumerated() {
      guard values.count == 1 else { return keys }
      start += parts[place].encoded(values[0], ordered)
    }
    // The cursor of a query that did not pin them may have others there.
    for (field, part) in orderFields.enumerated()
    where part < equal.count && place.values[field] != equal[part][0] { return keys }
    var bytes = start
    for part in equal.count..<orderedParts {
      guard let field = orderFields.firstIndex(of: part) else { return keys }
      bytes += parts[part].encoded(place.values[field], ordered)
    }
    let left = IndexKeys(lower: bytes, upper: bytes.successor).cut()
    var begin = left.lower
    let isExact =
      orderedParts == parts.count && place.record.zone == zone && bytes.count <= IndexEntry.cutBytes
      && 0..<255 ~= place.each
    if isExact {
      begin.append(UInt8(place.each + 1))
      begin += Array(place.record.name.rawValue.utf8)
    }
    if isReverse == true {
      if left.upper.lexicographicallyPrecedes(keys.upper) { keys.upper = left.upper }
      if isExact { keys.resume = begin }
      return keys
    }
    if keys.lower.lexicographicallyPrecedes(begin) { keys.lower = begin }
    return keys
  }
}

extension IndexPart {
  /// A value as the part has it in keys.
  fileprivate func encoded(_ value: Value, _ ordered: OrderedBytes) -> [UInt8] {
    var writer = ByteWriter()
    ordered.append(value, to: &writer)
    if isDescending { writer.invert(from: 0) }
    return writer.bytes
  }
}

extension IndexEntry {
  /// How long the part of a key before the separator is at most.
  static let cutBytes = prefixBytes + valueBytesMax
}

extension IndexKeys {
  /// The keys that include those whose values are cut.
  fileprivate func cut() -> IndexKeys {
    func cut(_ key: [UInt8]) -> [UInt8] { Array(key.prefix(IndexEntry.cutBytes)) }
    return IndexKeys(
      lower: cut(lower), upper: upper.count > IndexEntry.cutBytes ? cut(upper).successor : upper)
  }
}

extension [UInt8] {
  /// The first bytes that are greater than all that begin with these.
  var successor: [UInt8] {
    var bytes = self
    while let last = bytes.popLast() {
      if last < 255 { return bytes + [last + 1] }
    }
    return []
  }
}
