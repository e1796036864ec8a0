public import EventStore
public import OperationFormat

/// Where an app reads its models: a ``Store``, as it is now, a `StoreSnapshot`, as it was, or a `PinnedRead`.
public protocol ModelReading {
  /// Runs a closure that reads: all of it sees one state.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R
}

extension Store: ModelReading {}

extension StoreSnapshot: ModelReading {}

extension PinnedRead: ModelReading {}

/// Reading the records of queries: each call sees one state. Several in one ``read(_:)`` see the same.
///
/// Each throws `StoreError` `closed`, `damaged`, `system`; `valueInvalid` for a query that compares with what
/// cannot be stored.
extension ModelReading {
  /// A record; nil if it does not exist, or is of another type. If it was moved to another zone, it is found there.
  public func fetch<M: Model>(_ ref: Ref<M>) throws -> Row<M>? { try read { try $0.fetch(ref) } }

  /// The records of a model in a zone, in the order of their names.
  ///
  /// - Complexity: linear in the zone's records.
  public func fetch<M: Model>(_ model: M.Type, in zone: ZoneID) throws -> [Row<M>] {
    try read { try $0.fetch(model, in: zone) }
  }

  /// The records of a query, in its order.
  public func fetch<M: Model>(_ query: Query<M>) throws -> [Row<M>] { try read { try $0.fetch(query) } }

  /// The first record of a query; nil if it has none.
  public func first<M: Model>(_ query: Query<M>) throws -> Row<M>? { try read { try $0.first(query) } }

  /// A part of the records of a query, and where the next part begins.
  public func page<M: Model>(_ query: Query<M>) throws -> Page<M> { try read { try $0.page(query) } }

  /// Which records a query has, in its order.
  public func keys<M: Model>(_ query: Query<M>) throws -> [Ref<M>] { try read { try $0.keys(query) } }

  /// How many records a query has, no more than its limit.
  public func count<M: Model>(_ query: Query<M>) throws -> Int { try read { try $0.count(query) } }

  /// Whether a query has any record.
  public func exists<M: Model>(_ query: Query<M>) throws -> Bool { try read { try $0.exists(query) } }

  /// What devices wrote to a record without having seen each other; also of one that a deletion hides.
  public func conflicts<M: Model>(of ref: Ref<M>) throws -> [Conflict] {
    try read { try $0.conflicts(of: ref) }
  }

  /// The conflicts of the records of a query, in its order.
  public func conflicts<M: Model>(of query: Query<M>) throws -> [Conflict] {
    try read { try $0.conflicts(of: query) }
  }

  /// The records that should be one: each group has the same values in an index of the model that is unique.
  /// It throws `definitionInvalid` while such an index is not built.
  public func duplicates<M: Model>(of model: M.Type) throws -> [[Ref<M>]] {
    try read { try $0.duplicates(of: model) }
  }

  /// How a query is run.
  public func explain<M: Model>(_ query: Query<M>) throws -> QueryPlan { try read { try $0.explain(query) } }

  /// The entries of a list, in its order.
  public func fetch<M: Model, T>(_ query: EachQuery<M, T>) throws -> [EachRow<M, T>] {
    try read { try $0.fetch(query) }
  }

  /// How many entries a list has, no more than its limit.
  public func count<M: Model, T>(_ query: EachQuery<M, T>) throws -> Int { try read { try $0.count(query) } }

  /// The first entry of a list; nil if it has none.
  public func first<M: Model, T>(_ query: EachQuery<M, T>) throws -> EachRow<M, T>? {
    try read { try $0.first(query) }
  }

  /// How a list is made.
  public func explain<M: Model, T>(_ query: EachQuery<M, T>) throws -> QueryPlan {
    try read { try $0.explain(query) }
  }

  /// The least value of a field in the records of a query; nil if it has none.
  public func min<M: Model, T>(of column: (Columns<M>) -> Column<T>, _ query: Query<M>) throws -> T? {
    try read { try $0.min(of: column, query) }
  }

  /// The greatest value of a field in the records of a query; nil if it has none.
  public func max<M: Model, T>(of column: (Columns<M>) -> Column<T>, _ query: Query<M>) throws -> T? {
    try read { try $0.max(of: column, query) }
  }

  /// The sum of a field in the records of a query; 0 if it has none.
  public func sum<M: Model, T: SummableValue>(of column: (Columns<M>) -> Column<T>, _ query: Query<M>) throws
    -> T
  {
    try read { try $0.sum(of: column, query) }
  }

  /// How many records of a query have each value of a field.
  public func counts<M: Model, T: Hashable>(
    by column: (Columns<M>) -> Column<T>, _ query: Query<M>
  ) throws -> [T: Int] {
    try read { try $0.counts(by: column, query) }
  }

  /// When and by whom a record was created and changed last; nil if it does not exist, or is of another type.
  public func details<M: Model>(of ref: Ref<M>) throws -> RecordDetails? {
    try read { try $0.details(of: ref) }
  }
}

/// What a store says of sync.
extension Store {
  /// How far the last change of a record has come: only here, at the remote, or seen by others. Nil if it does not
  /// exist. To wait for it, follow it with `values`.
  ///
  /// - Throws: `StoreError` `closed`, `damaged`, `system`.
  public func receipt<M: Model>(of ref: Ref<M>) throws -> Receipt? { try read { try $0.receipt(of: ref) } }

  /// How far a write has come: see `LocalStore.receipt(of:)`.
  ///
  /// - Parameter written: what the closure of the write returned: `tx.written`.
  /// - Throws: `StoreError` `zoneUnknown`, `closed`, `damaged`, `system`.
  public func receipt(of written: Written) throws -> Receipt { try local.receipt(of: written) }

  /// Waits until a write has come as far as a closure asks for.
  ///
  /// - Parameters:
  ///   - written: as there.
  ///   - isEnough: called with how far it has come, and again whenever that is another.
  /// - Returns: the receipt that was enough.
  /// - Throws: as `receipt(of:)`; `CancellationError`.
  @discardableResult
  public func receipt(
    of written: Written, when isEnough: @Sendable (Receipt) -> Bool
  ) async throws -> Receipt {
    try await local.receipt(of: written, when: isEnough)
  }

  /// The other stores that have written to a zone, and how far they had read it then.
  ///
  /// - Throws: `StoreError` `zoneUnknown`, `closed`, `damaged`, `system`.
  public func peers(of zone: ZoneID) throws -> [Peer] { try read { try $0.peers(of: zone) } }

  /// How many transactions of all zones are to be sent to the remote.
  public func pendingCount() throws -> Int {
    try read { tx in
      try tx.zones().reduce(0) { try $0 + (tx.attachment(of: $1) == .local ? 0 : tx.pendingCount(in: $1)) }
    }
  }
}
