/// The outcome of a write, as its app got it.
struct WriteOutcome: Hashable {
  /// The operations of each transaction that it made.
  var operationCounts: [Int]
  /// Whether they are in the log; nil if the app got `commitUncertain`.
  var isLogged: Bool?
}
