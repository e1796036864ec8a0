import OperationFormat

/// Maps bases from before a zone's log was read again to the log as it is now.
///
/// The log may be shorter than it was, or another one from some offset on: a base that goes beyond that
/// claims to have seen what its transaction never saw.
struct RereadBases {
  let incarnation: IncarnationNumber
  /// The first offset that was read again.
  let first: UInt64
  /// The greatest base from before. Greater ones are of transactions that were made since.
  let seen: UInt64
  /// For each offset from the first on the least former base that had seen all of the log from there up to
  /// it.
  private var needed: [UInt64] = []

  init(incarnation: IncarnationNumber, first: UInt64, seen: UInt64) {
    self.incarnation = incarnation
    self.first = first
    self.seen = seen
  }

  /// Takes what is at the next offset.
  ///
  /// - Parameter former: the least offset where it was before; 0 if it has nothing to see, nil if it was
  ///   nowhere.
  mutating func append(seenAt former: UInt64?) {
    needed.append(max(needed.last ?? 0, former ?? .max))
  }

  /// The greatest base in the log as it is now that reaches nothing which the given one did not; nil for none
  /// at all.
  func rebased(_ base: BaseNumbers) -> BaseNumbers? {
    guard base.incarnation == incarnation, base.offset >= first, base.offset <= seen else { return base }
    let offset = first - 1 + UInt64(needed.prefixCount { $0 <= base.offset })
    return offset == 0 ? nil : (incarnation, offset)
  }

  /// Whether a transaction with this base had seen what the log does not have.
  func changes(_ base: BaseNumbers?) -> Bool {
    guard let base else { return false }
    return rebased(base)?.offset != base.offset
  }
}
