public import EventStore

/// Observing what is read. All of these begin with what is there, and go on until the store is closed, the task is
/// cancelled, or the loop is left. They hold no read transaction while they wait, and wake for those commits alone
/// that may change what they have read: in this process, in another, or from a remote.
extension Store {
  /// The rows of a query, now and whenever they are others.
  ///
  /// ```swift
  /// for try await rows in store.values(of: Post.all.sorted(by: \.date, .reverse).limit(20)) { show(rows) }
  /// ```
  public func values<M: Model>(of query: Query<M>) -> LiveRows<Row<M>> {
    LiveRows(rows: local.allValues { try $0.fetch(query) })
  }

  /// The entries of a list, now and whenever they are others.
  public func values<M: Model, T>(of query: EachQuery<M, T>) -> LiveRows<EachRow<M, T>> {
    LiveRows(rows: local.allValues { try $0.fetch(query) })
  }

  /// The rows of a query, then what is inserted, removed, moved and updated.
  ///
  /// ```swift
  /// for try await update in store.changes(of: Post.all) {
  ///   for place in update.inserted { insert(update.rows[place], at: place) }
  /// }
  /// ```
  public func changes<M: Model>(of query: Query<M>) -> LiveUpdates<Row<M>> {
    LiveUpdates(updates: local.allValues { try $0.fetch(query) })
  }

  /// The entries of a list, then what is inserted, removed, moved and updated.
  public func changes<M: Model, T>(of query: EachQuery<M, T>) -> LiveUpdates<EachRow<M, T>> {
    LiveUpdates(updates: local.allValues { try $0.fetch(query) })
  }

  /// What a closure reads, now and whenever that may be another. What it reads decides what wakes it.
  ///
  /// ```swift
  /// for try await open in store.values({ tx in try tx.count(Todo.where { $0.isDone == false }) }) {
  ///   badge = open
  /// }
  /// ```
  public func values<R: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> R
  ) -> ObservedValues<R> {
    local.values(body)
  }

  /// As `values(_:)` of any closure, without an element that is equal to the one before.
  public func values<R: Sendable & Equatable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> R
  ) -> ObservedValues<R> {
    local.values(body)
  }

  /// The commits from now on, also those of other processes.
  public var commits: Commits { local.commits }
}
