/// What was met, in the order in which it came, and found again by its key.
///
/// - Complexity: a look-up compares the key with the one of the last look-up, then with ``comparedMax`` entries or those that
///   have its hash.
struct MetInOrder<Key: Hashable, Value> {
  /// So few entries are found sooner without a hash.
  static var comparedMax: Int { 8 }

  private(set) var entries: [(key: Key, value: Value)] = []
  /// Where each key's entry is, once there are more than a few.
  private var indexes: [Key: Int] = [:]
  private var last = 0

  /// Where the entry of a key is; nil if the key was not met.
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

  /// Adds an entry for a key that was not met.
  ///
  /// - Returns: where it is.
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
