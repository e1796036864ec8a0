/// What a search has looked at.
struct SearchReport {
  var worlds = 0
  /// Worlds in which nothing moves any more.
  var atRest = 0
  /// Of these, in how many what the search is about has happened.
  var notable = 0
}
