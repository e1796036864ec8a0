package import OperationFormat

extension ReadTransaction {
  /// The names of all records that a zone has heads of, also of those that are not visible, in their order.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func allRecordNames(in zone: ZoneID) throws -> [Name] {
    var names: [Name] = []
    try tables.forEachRow(in: zone, after: nil, interned, transaction) { id, _, _, _ in
      names.append(id.name)
      return true
    }
    return names
  }
}
