/// Conflicts of the records of queries.
extension RecordReading where Self: ~Copyable {
  /// The conflicts of the records of a query, in its order. A record that a deletion hides is in no query:
  /// `conflicts(in:)` lists all of a zone.
  ///
  /// - Throws: `StoreError` `valueInvalid` for a query that compares with what cannot be stored; `damaged`.
  public func conflicts<M: Model>(of query: Query<M>) throws -> [Conflict] {
    try hits(query.base).flatMap { try conflicts(of: Ref<M>($0.record)) }
  }
}
