import LMDB
import OperationFormat

/// Saying which indexes a store has.
extension IndexTable where Source == TableStorage {
  /// Adds indexes, in place of those of the same names that are others. The fold has nothing that is not written.
  ///
  /// - Returns: whether anything changed.
  func declare(_ definitions: [IndexDefinition]) throws -> Bool {
    let known = try all().filter { $0.status != .removed }
    let hasRecords = try transaction.statistics(of: tables.records).entries > 0
    var isChanged = false
    for definition in definitions {
      let former = known.first { $0.definition.name == definition.name }
      if former?.definition == definition { continue }
      if let former { try markRemoved(former) }
      for name in definition.types + definition.fieldNames { _ = try source.names.makeNumber(for: name) }
      var index = StoredIndex(try makeNumber(), definition)
      if !hasRecords { index.status = .built }
      try put(index)
      isChanged = true
    }
    return isChanged
  }

  /// Lets an index go: its entries are removed in steps. The fold has nothing that is not written.
  ///
  /// - Returns: whether there was one of the name.
  func remove(_ name: Name) throws -> Bool {
    guard let index = try all().first(where: { $0.definition.name == name && $0.status != .removed }) else {
      return false
    }
    try markRemoved(index)
    return true
  }

  private func markRemoved(_ index: StoredIndex) throws {
    var index = index
    index.status = .removed
    try put(index)
  }
}
