/// A difference between what a check expects and what it finds.
struct FoldMismatch: Error {
  /// Where, in words.
  var place: String
  var expected: [String]
  var found: [String]
}
