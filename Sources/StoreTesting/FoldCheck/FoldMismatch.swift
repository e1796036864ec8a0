/// What a check did not find as it should be.
struct FoldMismatch: Error {
  /// Where, in words.
  var place: String
  var expected: [String]
  var found: [String]
}
