import LMDB
public import OperationFormat

extension LocalStore {
  /// Decides how a type's records fare when replicas that had not seen each other deleted and updated them.
  ///
  /// It is this store's: it changes no data, only which records are visible here. Set it alike everywhere.
  ///
  /// - Throws: ``StoreError`` `nameInvalid`, and as ``write(_:)``.
  public func setExistencePolicy(_ policy: ExistencePolicy, of type: Name) async throws {
    try type.check("a type's name", Limits.nameBytesMax)
    try await perform { store in
      try store.storage.meta.setPolicy(policy, of: try store.internName(type))
    }
  }
}

extension MetaTable where Source == TableStorage {
  func setPolicy(_ policy: ExistencePolicy, of type: NameNumber) throws {
    var policies = try source.policies()
    policies[type] = policy
    try source.put(.meta(.policies), in: tables.meta) { writer in
      for (type, policy) in policies.sorted(by: { $0.key < $1.key }) where policy != .latest {
        writer.append(varint: UInt64(type.rawValue))
        writer.append(policy.rawValue)
      }
    }
    source.forgetPolicies()
  }

  /// The identity of the store whose log was imported, nil if none was.
  func importedIdentity() throws -> StoreIdentity? {
    let key = TableKey.meta(.imported)
    return try transaction.withValue(of: key.span, in: tables.meta) { try StoreIdentity(row: $0) }
  }

  func setImportedIdentity(_ identity: StoreIdentity) throws {
    try source.put(.meta(.imported), in: tables.meta) { identity.append(to: &$0) }
  }

  /// Remembers that the store has a part of a log and not its end, or that it has the end.
  func setImporting(_ isImporting: Bool) throws {
    if isImporting {
      try source.put(.meta(.importing), in: tables.meta) { $0.append(1) }
    } else {
      let key = TableKey.meta(.importing)
      _ = try transaction.delete(key.span, in: tables.meta)
    }
  }
}
