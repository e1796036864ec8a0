import OperationFormat

/// Rows in memory, ascending by key, in chunks: so that one among very many is written without moving all
/// after it.
package struct SortedRows: Hashable, Sendable, Sequence {
  /// A row and its key.
  package struct Entry: Hashable, Sendable {
    package var key: [UInt8]
    package var row: [UInt8]
  }

  /// Where a row is, or belongs.
  struct Place {
    fileprivate var chunk: Int
    fileprivate var index: Int
  }

  private static let chunkRowsMax = 512
  /// None is empty.
  private var chunks: [[Entry]] = []
  package private(set) var count = 0

  init() {}

  package var isEmpty: Bool { count == 0 }

  package func makeIterator() -> FlattenSequence<[[Entry]]>.Iterator { chunks.joined().makeIterator() }

  /// How they are cut does not count.
  package static func == (a: Self, b: Self) -> Bool { a.count == b.count && a.elementsEqual(b) }

  package func hash(into hasher: inout Hasher) {
    for entry in self { hasher.combine(entry) }
  }

  subscript(place: Place) -> Entry { chunks[place.chunk][place.index] }

  /// - Complexity: linear in the chunks.
  subscript(index: Int) -> Entry {
    var rest = index
    for chunk in chunks {
      if rest < chunk.count { return chunk[rest] }
      rest -= chunk.count
    }
    preconditionFailure("no row at \(index) of \(count)")
  }

  subscript(key: RawSpan) -> [UInt8]? {
    let (place, isThere) = find(key)
    return isThere ? self[place].row : nil
  }

  /// The place of the first row at or after a key; its entry may be missing: see ``entry(at:)``.
  func find(_ key: RawSpan) -> (place: Place, isThere: Bool) {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      let last = chunks[middle][chunks[middle].count - 1].key
      if compareBytes(last.span.bytes, key) < 0 { low = middle + 1 } else { high = middle }
    }
    guard low < chunks.count else { return (Place(chunk: low, index: 0), false) }
    let chunk = low
    (low, high) = (0, chunks[chunk].count)
    while low < high {
      let middle = (low + high) / 2
      let there = chunks[chunk][middle].key
      let order = compareBytes(there.span.bytes, key)
      if order == 0 { return (Place(chunk: chunk, index: middle), true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (Place(chunk: chunk, index: low), false)
  }

  /// The row at a place, nil behind the last.
  func entry(at place: Place) -> Entry? { place.chunk < chunks.count ? self[place] : nil }

  func after(_ place: Place) -> Place {
    place.index + 1 < chunks[place.chunk].count
      ? Place(chunk: place.chunk, index: place.index + 1) : Place(chunk: place.chunk + 1, index: 0)
  }

  /// The place before one, nil before the first.
  func before(_ place: Place) -> Place? {
    if place.index > 0 { return Place(chunk: place.chunk, index: place.index - 1) }
    return place.chunk > 0 ? Place(chunk: place.chunk - 1, index: chunks[place.chunk - 1].count - 1) : nil
  }

  /// Calls a closure with the rows from a key on until it returns false.
  func forEach(from key: RawSpan, _ body: (Entry) throws -> Bool) rethrows {
    var place = find(key).place
    while let entry = entry(at: place), try body(entry) { place = after(place) }
  }

  mutating func write(_ row: RawSpan, _ key: RawSpan) {
    let (place, isThere) = find(key)
    if isThere {
      chunks[place.chunk][place.index].row.replace(with: row)
      return
    }
    count += 1
    let entry = Entry(key: key.bytes, row: row.bytes)
    guard place.chunk < chunks.count else {
      if let last = chunks.indices.last, chunks[last].count < Self.chunkRowsMax {
        chunks[last].append(entry)
      } else {
        chunks.append([entry])
      }
      return
    }
    chunks[place.chunk].insert(entry, at: place.index)
    guard chunks[place.chunk].count > Self.chunkRowsMax else { return }
    let half = Array(chunks[place.chunk][(Self.chunkRowsMax / 2)...])
    chunks[place.chunk].removeSubrange((Self.chunkRowsMax / 2)...)
    chunks.insert(half, at: place.chunk + 1)
  }

  mutating func remove(_ key: RawSpan) {
    let (place, isThere) = find(key)
    guard isThere else { return }
    count -= 1
    chunks[place.chunk].remove(at: place.index)
    if chunks[place.chunk].isEmpty { chunks.remove(at: place.chunk) }
  }
}

extension [UInt8] {
  fileprivate mutating func replace(with bytes: RawSpan) {
    removeAll(keepingCapacity: true)
    bytes.withUnsafeBytes { append(contentsOf: $0) }
  }
}
