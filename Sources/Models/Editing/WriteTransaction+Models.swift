public import OperationFormat

/// Writing records of models.
extension WriteTransaction {
  /// A record to edit. It need not be read before.
  public subscript<M: Model>(ref: Ref<M>) -> Editor<M> {
    let schema = M.schema
    return Editor(id: ref, write: WriteHandle(self, types: schema.types), schema: schema)
  }

  /// Creates a record of a model.
  ///
  /// ```swift
  /// let post = try tx.create(Post.self, in: "blog") { $0.headline = "Hello" }
  /// ```
  ///
  /// - Parameters:
  ///   - model: the record's model.
  ///   - zone: its zone.
  ///   - name: its name; nil for a new one, see `WriteTransaction.makeName()`.
  ///   - edit: sets its fields.
  /// - Returns: the record's identity.
  /// - Throws: `StoreError` `zoneUnknown`, `recordExists`, `nameInvalid`, `transactionTooLarge`; what the
  ///   closure throws. What fails in its fields fails the write.
  @discardableResult
  public mutating func create<M: Model>(
    _ model: M.Type, in zone: ZoneID, named name: Name? = nil,
    _ edit: (Editor<M>) throws -> Void = { _ in }
  ) throws -> Ref<M> {
    let ref = Ref<M>(in: zone, name ?? makeName())
    try create(ref.record, type: M.type)
    try edit(self[ref])
    return ref
  }

  /// Deletes a record. Its fields are hidden, not removed.
  ///
  /// - Throws: `StoreError` `zoneUnknown`, `recordUnknown`, `transactionTooLarge`.
  public mutating func delete<M: Model>(_ ref: Ref<M>) throws { try delete(ref.record) }

  /// Moves a record to another zone, under its name: see `move(_:to:)` of records.
  ///
  /// - Returns: the copy.
  /// - Throws: `StoreError` `zoneUnknown`, `recordUnknown`, `recordExists`, `valueInvalid`,
  ///   `transactionTooLarge`.
  @discardableResult
  public mutating func move<M: Model>(_ ref: Ref<M>, to zone: ZoneID) throws -> Ref<M> {
    Ref(try move(ref.record, to: zone))
  }
}
