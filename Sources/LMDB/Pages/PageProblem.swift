/// A defect in the structure of a data file.
package struct PageProblem: Sendable, Hashable, CustomStringConvertible {
  /// The number of the page, from 0.
  package var page: UInt64

  /// What is wrong.
  package var kind: Kind

  /// The kinds of damage.
  package enum Kind: String, Sendable, Hashable {
    case metaFields = "the fields of the meta page contradict each other"
    case beyondFile = "the page is beyond the end of the file or of the used pages"
    case wrongNumber = "the page's header has another number"
    case wrongKind = "the page is not of the kind that its place requires"
    case wrongBounds = "the bounds of the page's free space are impossible"
    case tooFewEntries = "the page has fewer entries than its kind must have"
    case nodeOutsidePage = "an entry is not inside the page"
    case nodesOverlap = "the entries are not packed end to end"
    case wrongNodeFlags = "an entry has impossible flags"
    case wrongKeySize = "an entry's key is empty or too long"
    case keysOutOfOrder = "the keys are not in order"
    case reachedTwice = "the page is used twice"
    case wrongOverflow = "the pages of a long value differ from what its entry says"
    case wrongTableRecord = "the record of a table is impossible"
    case wrongDepth = "the depth of the tree differs from its record"
    case wrongCount = "the number of entries or pages of the tree differs from its record"
    case wrongFreeList = "the list of free pages is impossible"
  }

  /// One line: the page and the problem.
  package var description: String { "page \(page): \(kind.rawValue)" }
}
