/// A write that has ended, as its app was told.
struct ToldWrite: Hashable {
  /// The operations of each transaction that it made.
  var operationCounts: [Int]
  /// Whether they are in the log; nil if the app was told that this is not known.
  var isLogged: Bool?
}
