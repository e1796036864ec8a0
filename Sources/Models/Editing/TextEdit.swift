/// A replacement in a text.
struct TextEdit: Equatable {
  /// What goes, in Unicode scalars.
  var removed: Range<Int>
  var inserted: String

  /// The edits that make a text another one, last part first, so that each leaves the indexes of the next. They
  /// take and give whole characters.
  static func edits(from old: String, to new: String) -> [TextEdit] {
    let (before, after) = (characters(of: old), characters(of: new))
    var starts = [0]
    for character in before { starts.append(starts.last! + character.scalars.count) }
    return SequenceEdit.edits(from: before, to: after).map { edit in
      let inserted = after[edit.inserted].reduce(into: "") {
        $0.unicodeScalars.append(contentsOf: $1.scalars)
      }
      return TextEdit(
        removed: starts[edit.removed.lowerBound]..<starts[edit.removed.upperBound], inserted: inserted)
    }
  }

  /// A character by its scalars: two may be equal that are written otherwise.
  private struct ScalarGroup: Hashable {
    let scalars: [Unicode.Scalar]
  }

  private static func characters(of text: String) -> [ScalarGroup] {
    text.map { ScalarGroup(scalars: Array($0.unicodeScalars)) }
  }
}
