/// A table as a sorted array: slow, and obviously correct.
struct Oracle {
  var pairs: [Pair] = []

  /// The index of the first key that is equal or greater.
  func place(of key: Bytes) -> Int {
    pairs.firstIndex { !$0.key.lexicographicallyPrecedes(key) } ?? pairs.count
  }

  func value(of key: Bytes) -> Bytes? {
    pairs.first { $0.key == key }?.value
  }

  mutating func put(_ value: Bytes, _ key: Bytes) {
    _ = delete(key)
    pairs.insert(Pair(key: key, value: value), at: place(of: key))
  }

  mutating func delete(_ key: Bytes) -> Bool {
    guard let index = pairs.firstIndex(where: { $0.key == key }) else { return false }
    pairs.remove(at: index)
    return true
  }
}

/// The specification of `Cursor`, on an `Oracle`.
struct OracleCursor {
  private enum Position {
    case nowhere, start, end
    case at(Bytes)
    case deleted(Bytes)
  }

  private var position = Position.nowhere

  func entry(_ oracle: Oracle) -> Pair? {
    guard case .at(let key) = position else { return nil }
    return oracle.pairs.first { $0.key == key }
  }

  mutating func first(_ oracle: Oracle) -> Bool {
    stand(oracle.pairs.first, orElse: .end)
  }

  mutating func last(_ oracle: Oracle) -> Bool {
    stand(oracle.pairs.last, orElse: .start)
  }

  mutating func next(_ oracle: Oracle) -> Bool {
    switch position {
    case .nowhere, .start: first(oracle)
    case .end: false
    case .at(let key), .deleted(let key):
      stand(oracle.pairs.first { key.lexicographicallyPrecedes($0.key) }, orElse: .end)
    }
  }

  mutating func previous(_ oracle: Oracle) -> Bool {
    switch position {
    case .nowhere, .end: last(oracle)
    case .start: false
    case .at(let key), .deleted(let key):
      stand(oracle.pairs.last { $0.key.lexicographicallyPrecedes(key) }, orElse: .start)
    }
  }

  mutating func seek(atOrAfter key: Bytes, _ oracle: Oracle) -> Bool {
    stand(oracle.pairs.first { !$0.key.lexicographicallyPrecedes(key) }, orElse: .end)
  }

  mutating func seek(to key: Bytes, _ oracle: Oracle) -> Bool {
    stand(oracle.pairs.first { $0.key == key }, orElse: .nowhere)
  }

  mutating func seek(before key: Bytes, _ oracle: Oracle) -> Bool {
    stand(oracle.pairs.last { $0.key.lexicographicallyPrecedes(key) }, orElse: .start)
  }

  mutating func deleteCurrent(_ oracle: inout Oracle) {
    guard case .at(let key) = position else { return }
    _ = oracle.delete(key)
    position = .deleted(key)
  }

  private mutating func stand(_ pair: Pair?, orElse miss: Position) -> Bool {
    position = pair.map { .at($0.key) } ?? miss
    return pair != nil
  }
}
