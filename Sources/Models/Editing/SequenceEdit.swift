/// A replacement in a sequence.
struct SequenceEdit: Equatable {
  /// Places of the old one.
  var removed: Range<Int>
  /// Places of the new one.
  var inserted: Range<Int>

  /// Where more elements differ, they are replaced as a whole: finding the least edit would take too long.
  private static let comparedMax = 4096

  /// The fewest edits that make a sequence another one, last part first: each leaves the places of the next.
  ///
  /// - Complexity: O(n) in both, and O(n · d) where they differ in d elements.
  static func edits<Element: Hashable>(from old: [Element], to new: [Element]) -> [SequenceEdit] {
    var start = 0
    while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
    var (oldEnd, newEnd) = (old.count, new.count)
    while oldEnd > start, newEnd > start, old[oldEnd - 1] == new[newEnd - 1] {
      oldEnd -= 1
      newEnd -= 1
    }
    if start == oldEnd && start == newEnd { return [] }
    guard start < oldEnd, start < newEnd, oldEnd + newEnd - 2 * start <= comparedMax else {
      return [SequenceEdit(removed: start..<oldEnd, inserted: start..<newEnd)]
    }
    var (removals, insertions) = (Set<Int>(), Set<Int>())
    for change in Array(new[start..<newEnd]).difference(from: Array(old[start..<oldEnd])) {
      switch change {
      case .remove(let index, _, _): removals.insert(start + index)
      case .insert(let index, _, _): insertions.insert(start + index)
      }
    }
    var edits: [SequenceEdit] = []
    var (from, to) = (start, start)
    while from < oldEnd || to < newEnd {
      let (firstOld, firstNew) = (from, to)
      while removals.contains(from) { from += 1 }
      while insertions.contains(to) { to += 1 }
      if from > firstOld || to > firstNew {
        edits.append(SequenceEdit(removed: firstOld..<from, inserted: firstNew..<to))
      } else {
        from += 1
        to += 1
      }
    }
    return edits.reversed()
  }
}
