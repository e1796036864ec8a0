import LMDB
import OperationFormat

extension MetaTable {
  /// The store's identity; nil in a store that only folds the log of another.
  func identity() throws -> StoreIdentity? {
    try transaction.withValue(of: TableKey.meta(.identity).span, in: tables.meta) {
      try StoreIdentity(row: $0)
    }
  }

  /// The replicas that this store was before, the last one first: see ``NewIdentity``.
  func formers() throws -> [ReplicaID] {
    try transaction.withValue(of: TableKey.meta(.formers).span, in: tables.meta) { row in
      var (reader, formers) = (ByteReader(row), [ReplicaID]())
      while reader.remaining > 0 {
        formers.append(ReplicaID(rawValue: try reader.readBigEndian("formers", as: UInt128.self)))
      }
      return formers
    } ?? []
  }
}

extension MetaTable where Source == TableStorage {
  /// So many former replicas are known. What is left of those before, which nothing was sent of for that long, the user
  /// settles as another store's.
  static var formersMax: Int { 256 }

  /// Makes the store another replica.
  ///
  /// - Parameter former: what it was before, to be known; nil if it wrote nothing.
  func setIdentity(_ identity: StoreIdentity, after former: ReplicaID?) throws {
    if let former {
      let formers = ([former] + (try formers())).prefix(Self.formersMax)
      try source.put(.meta(.formers), in: tables.meta) { writer in
        for former in formers { writer.append(bigEndian: former.rawValue) }
      }
    }
    try source.put(.meta(.identity), in: tables.meta) { identity.append(to: &$0) }
  }
}
