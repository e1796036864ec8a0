public import OperationFormat

/// Reading of contributions.
extension ReadView {
  /// The contributions to a field of a visible record; nil if there are none.
  func contributionCell(_ field: Name, of record: RecordID) throws -> ContributionCell<ReadView>? {
    try withCell(.contributions, of: field, in: record) { try ContributionCell($0) }
  }

  /// The contributions to a field in their order, each with its operation; also of a record that is not visible.
  func contributions(of field: Name, inAny record: RecordID) throws -> [Contribution] {
    guard let number = try number(of: field) else { return [] }
    return try withStoredRow(of: record, field: number) { row, state in
      let cell = CellNumber(number, .contributions)
      guard try !RecordLayout.place(of: cell, in: row).body.isEmpty else { return nil }
      return try ContributionCell(CellReader(cell, in: row, state, self)).contributions()
    } ?? []
  }
}

extension ReadTransaction {
  /// What was contributed to a field of a record, in the order of ``ContributionReducer``; nil if the record is not there,
  /// or nothing was contributed to it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(n log n) in the contributions.
  public func contributions(of field: Name, in record: RecordID) throws -> [Contribution]? {
    try readView.contributionCell(field, of: record)?.contributions()
  }
}

extension WriteTransaction {
  // MARK: Contributions

  /// Contributes a payload to a field of a record. What was contributed elsewhere counts too; what they amount to is said by
  /// the app's own ``ContributionReducer``.
  ///
  /// - Parameters:
  ///   - payload: any value; bytes over ``StoreConfiguration/assetThresholdBytes`` become an asset.
  ///   - field: the field.
  ///   - record: the record.
  /// - Throws: as ``set(_:of:to:)``.
  /// - Complexity: O(log n) in the contributions.
  public mutating func contribute(_ payload: Value, to field: Name, of record: RecordID) throws {
    try write.change(field, of: record, .contribute(payload))
  }

  /// What was contributed to a field of a record, in the order of ``ContributionReducer``; nil if the record is not there,
  /// or nothing was contributed to it.
  ///
  /// - Complexity: O(n log n) in the contributions.
  public mutating func contributions(of field: Name, in record: RecordID) throws -> [Contribution]? {
    try readView().contributionCell(field, of: record)?.contributions()
  }
}
