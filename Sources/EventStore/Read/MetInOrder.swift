/// A small dictionary that keeps the order of insertion.
///
/// - Complexity: a look-up compares the key with that of the last look-up, then with ``comparedMax`` entries
///   or those with the same hash.
struct MetInOrder<Key: Hashable, Value> {
  /// Up to so many entries, comparing is faster than hashing.
  static var comparedMax: Int { 8 }

  private(set) var entries: [(key: Key, value: Value)] = []
  /// The index of each key's entry, once there are more than ``comparedMax``.
  private var indexes: [Key: Int] = [:]
  private var last = 0

  /// The index of a key's entry; nil if there is none.
  @inline(__always)
  mutating func index(of key: Key) -> Int? {
    if last < entries.count, entries[last].key == key { return last }
    return search(key)
  }

  private mutating func search(_ key: Key) -> Int? {
    let found = indexes.isEmpty ? entries.firstIndex { $0.key == key } : indexes[key]
    if let found { last = found }
    return found
  }

  /// Adds an entry for a key that has none.
  ///
  /// - Returns: its index.
  mutating func append(_ key: Key, _ value: Value) -> Int {
    last = entries.count
    entries.append((key, value))
    if !indexes.isEmpty {
      indexes[key] = last
    } else if entries.count > Self.comparedMax {
      for (index, entry) in entries.enumerated() { indexes[entry.key] = index }
    }
    return last
  }
}
