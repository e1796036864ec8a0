import LMDB
import OperationFormat

/// Chooses which of the kinds that the log has and that were not folded are noted.
enum UnfoldedKinds {
  static let countMax = 256
  /// Noted when the log has changed without such kinds: a kind that every version knows.
  static let changedLog = OperationKind.set

  /// The least of those that this version does not know. Those that it knows, which are there until it has
  /// folded the log again, are few and take no place.
  static func kept(_ kinds: Set<OperationKind>) -> Set<OperationKind> {
    if kinds.count <= countMax { return kinds }
    let ascending = kinds.sorted { $0.rawValue < $1.rawValue }
    return Set(ascending.prefix { $0.isKnown } + ascending.drop { $0.isKnown }.prefix(countMax))
  }
}

extension TableStorage {
  /// The kinds of operations that the log has and that were not folded.
  func unfoldedKinds() throws -> Set<OperationKind> {
    if let known = state.unfoldedKinds { return known }
    let found = try meta.unfoldedKinds()
    state.unfoldedKinds = found
    return found
  }

  func setUnfoldedKinds(_ kinds: Set<OperationKind>) throws {
    guard try kinds != unfoldedKinds() else { return }
    try meta.storeUnfoldedKinds(kinds)
    state.unfoldedKinds = kinds
  }

  /// Notes that the log has operations that this version keeps and does not fold.
  ///
  /// No version has so many kinds: more come from a malicious writer, and would make each commit slower. The
  /// least ones stay. A version that knows one of the others knows these too, and so folds the log again,
  /// which notes what it does not know.
  func noteUnfolded(_ operations: [OperationLayout]) throws {
    var kinds = try unfoldedKinds()
    for operation in operations where !operation.kind.isKnown { kinds.insert(operation.kind) }
    try setUnfoldedKinds(UnfoldedKinds.kept(kinds))
  }
}
