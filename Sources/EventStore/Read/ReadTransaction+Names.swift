package import OperationFormat

extension ReadTransaction {
  /// The names of all records that a zone has heads of, also of those that are not visible, in their order.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func allRecordNames(in zone: ZoneID) throws -> [Name] {
    var names: [Name] = []
    try readView.forEachRow(in: zone) { name, _, _ in
      names.append(name)
      return true
    }
    return names
  }
}
