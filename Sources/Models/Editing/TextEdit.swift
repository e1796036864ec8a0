/// A replacement in a text.
struct TextEdit: Equatable {
  /// What goes, in Unicode scalars.
  var removed: Range<Int>
  var inserted: String

  /// The edits that make a text another one, last part first, so that each leaves the indexes of the next. They
  /// take and give whole characters.
  static func edits(from old: String, to new: String) -> [TextEdit] {
    if old.isEmpty || new.isEmpty {
      if old.isEmpty && new.isEmpty { return [] }
      return [TextEdit(removed: 0..<old.unicodeScalars.count, inserted: new)]
    }
    let (before, after) = (old.map(ScalarGroup.init), new.map(ScalarGroup.init))
    var starts = [0]
    for character in before { starts.append(starts.last! + character.scalarCount) }
    return SequenceEdit.edits(from: before, to: after).map { edit in
      TextEdit(
        removed: starts[edit.removed.lowerBound]..<starts[edit.removed.upperBound],
        inserted: after[edit.inserted].reduce(into: "") { $0.append($1.character) })
    }
  }

  /// A character by its scalars: two may be equal as characters that are written otherwise.
  private struct ScalarGroup: Hashable {
    let character: Character

    init(_ character: Character) { self.character = character }

    var scalarCount: Int { character.unicodeScalars.count }

    static func == (one: Self, other: Self) -> Bool { one.character.utf8.elementsEqual(other.character.utf8) }

    func hash(into hasher: inout Hasher) {
      for byte in character.utf8 { hasher.combine(byte) }
    }
  }
}
