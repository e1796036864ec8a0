package import EventStore

/// How far the remote was asked for the assets that an eager zone waits for. What it did not have then it is not asked
/// for in each round: only once a transaction names it that came since, or after a while, with a new search.
package struct AssetSearch: Hashable, Sendable {
  /// Where the log ended when all were asked for that it named; nil: they never were.
  package private(set) var askedThrough: Position?
  /// Where the log ended when the pass that is under way began; nil: none is.
  var through: Position?
  /// The last one that this pass is done with: a round that ends before goes on behind it in the next.
  var last: AssetReference?
  /// Whether some did not come.
  package var hasAbsent = false

  package init() {}

  /// Whether the next round goes on with it. Otherwise it begins anew, which costs nothing where all is here.
  var isToGoOn: Bool { hasAbsent || through != nil }

  /// The pass is over: from now on those alone are asked for that are named anew.
  mutating func end() {
    askedThrough = through
    (through, last) = (nil, nil)
  }
}
