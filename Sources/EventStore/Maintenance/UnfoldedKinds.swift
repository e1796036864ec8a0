import LMDB
import OperationFormat

/// Which kinds are noted of those that the log has and nobody has folded.
enum UnfoldedKinds {
  static let countMax = 256
  /// What is noted where the log has changed behind the fold, and has no such kinds: one that every version knows.
  static let changedLog = OperationKind.set

  /// The least of those that this version does not know. Those that it knows, which are there until it has folded the log again,
  /// are few and take no place.
  static func kept(_ kinds: Set<OperationKind>) -> Set<OperationKind> {
    if kinds.count <= countMax { return kinds }
    let ascending = kinds.sorted { $0.rawValue < $1.rawValue }
    return Set(ascending.prefix { $0.isKnown } + ascending.drop { $0.isKnown }.prefix(countMax))
  }
}

extension TableStorage {
  /// The kinds of operations that the log has and nobody has folded.
  func unfoldedKinds() throws -> Set<OperationKind> {
    if let cachedUnfolded { return cachedUnfolded }
    let found = try tables.unfoldedKinds(transaction)
    cachedUnfolded = found
    return found
  }

  func setUnfoldedKinds(_ kinds: Set<OperationKind>) throws {
    guard try kinds != unfoldedKinds() else { return }
    try tables.setUnfoldedKinds(kinds, transaction)
    cachedUnfolded = kinds
  }

  /// Notes that the log has operations that this version keeps and does not fold.
  ///
  /// No version has so many kinds: more are somebody's mischief, and would make each commit slower. The least ones stay. A
  /// version that knows one of the others knows these too, and so folds the log again, which notes what it does not know.
  func noteUnfolded(_ operations: [OperationLayout]) throws {
    var kinds = try unfoldedKinds()
    for operation in operations where !operation.kind.isKnown { kinds.insert(operation.kind) }
    try setUnfoldedKinds(UnfoldedKinds.kept(kinds))
  }
}

extension Tables {
  /// The kinds of operations that the log has and nobody has folded.
  func unfoldedKinds(_ transaction: borrowing LMDBTransaction) throws -> Set<OperationKind> {
    let key = TableKey.meta(.unfolded)
    let found = try transaction.withValue(of: key.span, in: meta) { row in
      var kinds: Set<OperationKind> = []
      var reader = ByteReader(row)
      while reader.remaining > 0 { kinds.insert(OperationKind(rawValue: try reader.readVarint("unfolded"))) }
      return kinds
    }
    return found ?? []
  }

  func setUnfoldedKinds(_ kinds: Set<OperationKind>, _ transaction: borrowing LMDBTransaction) throws {
    var writer = ByteWriter()
    for kind in kinds.map(\.rawValue).sorted() { writer.append(varint: kind) }
    try transaction.put(writer.span, for: TableKey.meta(.unfolded).span, in: meta)
  }
}

extension LocalStore {
  /// Whether the store notes that its log has operations of a kind that it keeps and does not fold.
  package func knowsUnfolded(_ kind: OperationKind) throws -> Bool {
    try read { try $0.tables.unfoldedKinds($0.transaction).contains(kind) }
  }
}
