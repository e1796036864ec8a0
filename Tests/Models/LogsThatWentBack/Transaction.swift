/// A transaction: what one replica wrote at once. Its number in `World.transactions` is its identity.
struct Transaction: Hashable {
  let writer: Int
  let kind: Kind
  /// The base in its bytes: how many entries its writer had read of the log, as that was for it then.
  let base: Int
  /// What its writer really showed when it wrote. No replica can look at it: the rules must find it out.
  let shown: NumberSet
  /// From where it showed that: the log that it had read, then lost logs that it held besides.
  var sources: [Source]
  /// The transaction of which a wrong rule made this a copy; its own number if it is no copy.
  let origin: Int

  /// What a transaction does. Both cells are of one record.
  enum Kind: Hashable {
    /// Sets the register.
    case set
    /// Adds the element to the set.
    case add
    /// Removes the element from the set, as far as it has seen that it was added.
    case remove
    /// Sets the register and adds the element.
    case setAndAdd
    /// Sets the register and removes the element.
    case setAndRemove
    /// What the model of compaction is about.
    case content(ContentOperation)

    var content: ContentOperation? { if case .content(let operation) = self { operation } else { nil } }

    var sets: Bool { self == .set || self == .setAndAdd || self == .setAndRemove }
    var adds: Bool { self == .add || self == .setAndAdd }
    var removes: Bool { self == .remove || self == .setAndRemove }
  }
}
