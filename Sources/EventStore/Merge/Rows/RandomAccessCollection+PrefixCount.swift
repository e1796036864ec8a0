extension RandomAccessCollection {
  /// How many elements satisfy a predicate that the first ones do and the rest do not.
  ///
  /// - Complexity: O(log n)
  @inline(__always)
  package func prefixCount<Member>(
    _ isFirst: (Member) throws -> Bool
  ) rethrows -> Int where Self: RandomAccessCollection<Member> {
    var (low, high) = (0, count)
    while low < high {
      let middle = low + (high - low) / 2
      if try isFirst(self[index(startIndex, offsetBy: middle)]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
