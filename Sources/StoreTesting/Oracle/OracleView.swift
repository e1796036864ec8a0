/// What a store has of a zone, in the numbers of an ``Oracle``.
struct OracleView: Hashable, Sendable {
  /// The transactions that it has folded.
  var folded: TransactionSet
  /// When each transaction was first received, as far as the store knows: milliseconds since 1970, `Int64.max` for no
  /// known time, as for those after the end.
  var received: [Int64] = []
  /// The floors that count for it, in the order of their places.
  var floors: [OracleFloor] = []
}

/// A floor that counts.
struct OracleFloor: Hashable, Sendable {
  /// The offset up to which it compacts.
  var offset: Int
  /// The offset of the transaction that named it, where it works.
  var place: Int
}
