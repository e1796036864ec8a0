public import OperationFormat

extension WriteTransaction {
  /// Moves a record to another zone: it is deleted where it is, and a copy of it is created there under its
  /// name.
  ///
  /// The copy gets the visible content: of a conflict, only the winner. Its references still name the same
  /// records, and those of other records still name the former zone. Each zone gets its own transaction,
  /// which names the other zone. Another replica may receive one without the other; if it changes the record
  /// meanwhile, the record may survive beside its copy, as a conflict: see <doc:MergeRules>.
  ///
  /// - Parameters:
  ///   - record: the record.
  ///   - zone: another zone, which must have no record of the name.
  /// - Returns: the copy.
  /// - Throws: ``StoreError`` `zoneUnknown`, `recordUnknown`, `recordExists`, `transactionTooLarge`, and
  ///   `valueInvalid` for a value that becomes too large because its references name their zone. Nothing is
  ///   moved then, nor any of it.
  /// - Complexity: linear in all that was ever written to the record.
  @discardableResult
  public mutating func move(_ record: RecordID, to zone: ZoneID) throws -> RecordID {
    try write.move(record, to: zone)
  }
}
