/// Something in a data file that cannot be in a sound one.
package struct PageProblem: Sendable, Hashable, CustomStringConvertible {
  /// The number of the page, from 0.
  package var page: UInt64

  /// What is wrong.
  package var kind: Kind

  /// The kinds of damage.
  package enum Kind: String, Sendable, Hashable {
    case metaFields = "the fields of the meta page contradict each other"
    case beyondFile = "the page lies beyond the end of the file or of the used pages"
    case wrongNumber = "the page's header has another number"
    case wrongKind = "the page is of another kind than its place demands"
    case wrongBounds = "the bounds of the page's free space are not possible"
    case tooFewEntries = "the page has fewer entries than its kind must have"
    case nodeOutsidePage = "an entry does not lie within the page"
    case nodesOverlap = "entries take more room than the page has"
    case wrongNodeFlags = "an entry has flags that cannot be"
    case wrongKeySize = "an entry's key is empty or too long"
    case keysOutOfOrder = "the keys are not in order"
    case reachedTwice = "the page is used twice"
    case wrongOverflow = "the pages of a long value are not what its entry says"
    case wrongTableRecord = "the record of a table is not possible"
    case wrongDepth = "the tree is not as deep as its record says"
    case wrongCount = "the tree has not as many entries or pages as its record says"
    case wrongFreeList = "the list of free pages is not possible"
  }

  /// One line: what is wrong with which page.
  package var description: String { "page \(page): \(kind.rawValue)" }
}
