import LMDB
import OperationFormat

extension MetaTable where Source == TableStorage {
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
