/// The order of a text's units: FugueMax, as in the engine.
extension RecordState {
  /// Inserts a unit.
  ///
  /// - Parameters:
  ///   - head: who inserts it.
  ///   - left: the unit after which it comes; nil for the start.
  ///   - sees: whether its transaction has seen the insertion of another one.
  mutating func insert(by head: Head, after left: UnitName?, sees: (TextUnit) -> Bool) {
    while unitCounts.count <= head.writer { unitCounts.append(0) }
    let name = UnitName(writer: head.writer, number: unitCounts[head.writer])
    unitCounts[head.writer] += 1
    let start = left.flatMap { origin($0, sees: sees) } ?? -1
    let left = start < 0 ? nil : text[start].name
    let behind = text.indices.dropFirst(start + 1)
    // Only a sibling is a right origin.
    let right = behind.first { sees(text[$0]) }.flatMap { text[$0].left == left ? $0 : nil }
    var index = start + 1
    var isPassing = false
    for at in behind {
      let other = text[at]
      if sees(other) { break }
      let otherStart = other.left.flatMap(place) ?? -1
      if otherStart < start { break }
      if otherStart == start {
        let otherRight = other.right.flatMap(place)
        if otherRight == right, name.writer < other.name.writer { break }
        isPassing = (otherRight ?? text.count) < (right ?? text.count)
      }
      if !isPassing { index = at + 1 }
    }
    text.insert(
      TextUnit(name: name, write: head.number, left: left, right: right.map { text[$0].name }), at: index)
  }

  /// Removes a unit, if it is there.
  mutating func remove(_ name: UnitName, sees: (TextUnit) -> Bool) {
    if let place = place(of: name), sees(text[place]) { text[place].isRemoved = true }
  }

  /// Where an insertion comes after: the unit that it names. If that was dropped, the last unit before it
  /// that the same writer inserted and compaction kept; if there is none, the start.
  private func origin(_ name: UnitName, sees: (TextUnit) -> Bool) -> Int? {
    if let place = place(of: name) { return sees(text[place]) ? place : nil }
    return text.indices.filter {
      text[$0].isCompacted && text[$0].name.writer == name.writer && text[$0].name.number < name.number
    }.max { text[$0].name.number < text[$1].name.number }
  }

  private func place(of name: UnitName) -> Int? { text.firstIndex { $0.name == name } }
}
