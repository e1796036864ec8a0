public import OperationFormat

/// Reading records as rows of a model. A zone that is not there yet is empty.
extension RecordReading where Self: ~Copyable {
  /// A record; nil if it does not exist, or is of another type. If it was moved to another zone, it is found there:
  /// the row's `id` has the zone where it is now.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func fetch<M: Model>(_ ref: Ref<M>) throws -> Row<M>? {
    try row(of: reader.currentWholeRecord(ref.record), M.schema)
  }

  /// As ``fetch(_:)``, of a record that was not moved away.
  func fetch<M: Model>(_ ref: Ref<M>, _ schema: ModelSchema<M>) throws -> Row<M>? {
    try row(of: reader.wholeRecord(ref.record), schema)
  }

  private func row<M: Model>(of whole: WholeRecord?, _ schema: ModelSchema<M>) throws -> Row<M>? {
    guard let whole, schema.types.contains(whole.record.type) else { return nil }
    return try Row(whole, schema, in: self)
  }

  /// Where a record is now: it, or where it was moved. Nil if it does not exist, or is not in this store: then
  /// `place(of:)` of the record says more. A write changes a record by this identity.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func current<M: Model>(_ ref: Ref<M>) throws -> Ref<M>? { try current(ref.record).map { Ref($0) } }

  /// The records of a model in a zone, in the order of their names.
  ///
  /// - Throws: `StoreError` `damaged`.
  /// - Complexity: linear in the zone's records.
  public func fetch<M: Model>(_ model: M.Type, in zone: ZoneID) throws -> [Row<M>] {
    try emptyIfThereIsNoZone {
      let schema = model.schema
      var rows: [Row<M>] = []
      try scan(zone, types: schema.types) { record in
        rows.append(try Row(record.wholeRecord(), schema, in: self))
        return true
      }
      return rows
    } ?? []
  }

  /// Whether a record exists where it is named, and is of its model's type. One that was moved away does not:
  /// ``current(_:)`` finds it.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func contains<M: Model>(_ ref: Ref<M>) throws -> Bool {
    try emptyIfThereIsNoZone {
      try withRecord(ref.record) { try M.schema.types.contains($0.type) }
    }
      ?? false
  }

  /// `scan(_:type:after:_:)` of records of several types.
  func scan(
    _ zone: ZoneID, types: [Name], after name: Name? = nil, _ body: (borrowing RecordView) throws -> Bool
  ) throws {
    if types.count == 1 { return try scan(zone, type: types[0], after: name, body) }
    try scan(zone, after: name) { record in
      guard types.contains(try record.type) else { return true }
      return try body(record)
    }
  }

  func emptyIfThereIsNoZone<R>(_ body: () throws -> R?) throws -> R? {
    do {
      return try body()
    } catch let error as StoreError where error.code == .zoneUnknown {
      return nil
    }
  }
}
