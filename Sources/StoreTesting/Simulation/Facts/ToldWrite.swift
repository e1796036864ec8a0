/// A write that has ended, as its app was told.
struct ToldWrite: Hashable {
  /// The operations of each transaction that it made.
  var operationCounts: [Int]
  /// Whether they are in the log; nil if the app was told that nobody knows.
  var isLogged: Bool?

  /// Checks that a log got what its writes were told, and nothing else.
  ///
  /// - Parameters:
  ///   - told: the writes that ended, in the order in which they were committed.
  ///   - logged: the operations of each transaction of the store's own that its log got meanwhile.
  static func check(_ told: [ToldWrite], logged: [Int], _ store: String) throws {
    var left = logged[...]
    for write in told where write.isLogged != false {
      if left.starts(with: write.operationCounts) {
        left = left.dropFirst(write.operationCounts.count)
      } else if write.isLogged == true {
        throw SimulationFailure(
          .acknowledgedIsInLog,
          "\(store) acknowledged a write of \(write.operationCounts) operations, and its log got \(Array(left))"
        )
      }
    }
    guard left.isEmpty else {
      throw SimulationFailure(
        .transactionsAreAtomic,
        "the log of \(store) got transactions of \(Array(left)) operations that no write was told of")
    }
  }
}
