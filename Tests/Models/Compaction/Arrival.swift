/// A transaction as it is folded.
struct Arrival {
  let number: Int
  let writer: Int
  let operation: ContentOperation
  /// Up to which offset it has seen the log: its base as it counts, see ``Entry/limit``.
  var base: Int
  /// Its place in the log; nil while it has none.
  var offset: Int?

  /// One that has no place yet.
  init(_ entry: Entry) {
    number = entry.transaction
    writer = entry.writer
    operation = entry.kind.content!
    base = min(entry.base, entry.limit ?? entry.base)
  }
}
