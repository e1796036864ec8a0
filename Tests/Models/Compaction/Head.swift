/// A head of a cell.
struct Head: Hashable, Comparable {
  /// The write that made it: it says where the head's place is, and gives it a time. Of a head that
  /// compaction wrote it is only a time.
  let number: Int
  let writer: Int
  /// Of a register its value, of a counter what was added, of an existence 1 for alive and 0 for dead.
  let value: Int
  /// Whether compaction wrote it: then it stands at the floor.
  var isCompacted = false

  var isAlive: Bool { value != 0 }

  static func < (one: Head, other: Head) -> Bool {
    (one.number, one.writer, one.value) < (other.number, other.writer, other.value)
  }
}
