/// A replacement in a text.
struct TextEdit: Equatable {
  /// What goes, in Unicode scalars of the text as the edits before left it.
  var removed: Range<Int>
  var inserted: String

  /// More characters than these are replaced as a whole where they differ: finding the least edit would take too
  /// long.
  private static let comparedMax = 4096

  /// The edits that make a text another one, last part first, so that each leaves the indexes of the next. They
  /// take and give whole characters.
  static func edits(from old: String, to new: String) -> [TextEdit] {
    let (before, after) = (characters(of: old), characters(of: new))
    var start = 0
    while start < min(before.count, after.count), before[start] == after[start] { start += 1 }
    var (oldEnd, newEnd) = (before.count, after.count)
    while oldEnd > start, newEnd > start, before[oldEnd - 1] == after[newEnd - 1] {
      oldEnd -= 1
      newEnd -= 1
    }
    let (goes, comes) = (before[start..<oldEnd], after[start..<newEnd])
    let offset = before[..<start].reduce(0) { $0 + $1.count }
    if goes.isEmpty && comes.isEmpty { return [] }
    guard !goes.isEmpty, !comes.isEmpty, goes.count + comes.count <= comparedMax else {
      return [TextEdit(goes, comes, offset)]
    }
    return edits(from: Array(goes), to: Array(comes), offset)
  }

  private init(_ goes: some Collection<ScalarGroup>, _ comes: some Collection<ScalarGroup>, _ offset: Int) {
    removed = offset..<offset + goes.reduce(0) { $0 + $1.count }
    inserted = comes.reduce(into: "") { $0.unicodeScalars.append(contentsOf: $1.scalars) }
  }

  private static func edits(from old: [ScalarGroup], to new: [ScalarGroup], _ offset: Int) -> [TextEdit] {
    var (removals, insertions) = (Set<Int>(), Set<Int>())
    for change in new.difference(from: old) {
      switch change {
      case .remove(let index, _, _): removals.insert(index)
      case .insert(let index, _, _): insertions.insert(index)
      }
    }
    var edits: [TextEdit] = []
    var (from, to, place) = (0, 0, offset)
    while from < old.count || to < new.count {
      let (firstOld, firstNew) = (from, to)
      while removals.contains(from) { from += 1 }
      while insertions.contains(to) { to += 1 }
      if from > firstOld || to > firstNew {
        edits.append(TextEdit(old[firstOld..<from], new[firstNew..<to], place))
        place = edits.last!.removed.upperBound
      } else {
        place += old[from].count
        from += 1
        to += 1
      }
    }
    return edits.reversed()
  }

  /// A character by its scalars: characters are equal that are written otherwise.
  private struct ScalarGroup: Hashable {
    let scalars: [Unicode.Scalar]
    var count: Int { scalars.count }
  }

  private static func characters(of text: String) -> [ScalarGroup] {
    text.map { ScalarGroup(scalars: Array($0.unicodeScalars)) }
  }
}
