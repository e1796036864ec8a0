/// Conflicts of records of models: see `Conflict`.
extension RecordReading where Self: ~Copyable {
  /// What devices wrote to a record without having seen each other; also of one that a deletion hides.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func conflicts<M: Model>(of ref: Ref<M>) throws -> [Conflict] {
    try emptyIfThereIsNoZone { try conflicts(of: ref.record) } ?? []
  }
}
