public import EventStore
public import Models
public import Observation

/// What a query or a closure reads of a store, kept as it is now: for SwiftUI, and for all that follows
/// `Observable`.
///
/// ```swift
/// let posts = LiveQuery(Post.all.sorted(by: \.date, .reverse).limit(20), in: store)
/// let liked = LiveQuery(in: store, default: 0) { tx in try tx.count(Post.where { $0.likes > 9 }) }
/// ```
///
/// It has its first value when it is made, so that no view begins empty, and reads again, beside the main actor, for
/// those commits alone that may change what it has read: of this process, another, or a remote. It follows the
/// store until it is released.
@MainActor @Observable
public final class LiveQuery<Value: Equatable & Sendable> {
  /// What was read last.
  public private(set) var value: Value
  /// Why it follows the store no more: what the closure threw, or that the store cannot be read. Nil while it does, and
  /// when the store was closed.
  public private(set) var error: (any Error)?
  @ObservationIgnored private let store: Store
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Keeps what a closure reads.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - value: what it is if the first reading throws.
  ///   - body: reads it: first on the main actor, then beside it.
  public init(
    in store: Store, default value: Value,
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
  ) {
    (self.value, self.store) = (value, store)
    follow(body)
  }

  /// Keeps what another closure reads from now on: when the user has chosen another order or filter.
  public func follow(_ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Value) {
    task?.cancel()
    var values = store.values(body).makeAsyncIterator()
    do {
      try values.readNow().map(show)
      error = nil
    } catch {
      self.error = error
      return
    }
    task = Task { [weak self, values] in
      do {
        // Another query may have come while the value did.
        try await Self.forEach(values) { value in if !Task.isCancelled { self?.show(value) } }
      } catch {
        if !Task.isCancelled { self?.error = error }
      }
    }
  }

  deinit { task?.cancel() }

  /// A view is drawn again only for another value.
  private func show(_ new: Value) { if new != value { value = new } }

  /// Reads beside the main actor.
  @concurrent
  nonisolated private static func forEach(
    _ values: ObservedValues<Value>.Iterator, _ body: @MainActor @Sendable (Value) -> Void
  ) async throws {
    var values = values
    while let value = try await values.next() { await body(value) }
  }
}

extension LiveQuery {
  /// Keeps the rows of a query.
  public convenience init<M: Model>(_ query: Query<M>, in store: Store) where Value == [Row<M>] {
    self.init(in: store, default: []) { try $0.fetch(query) }
  }

  /// Keeps the rows of another query from now on.
  public func follow<M: Model>(_ query: Query<M>) where Value == [Row<M>] { follow { try $0.fetch(query) } }

  /// Keeps the entries of a list.
  public convenience init<M: Model, T>(_ query: EachQuery<M, T>, in store: Store)
  where Value == [EachRow<M, T>] {
    self.init(in: store, default: []) { try $0.fetch(query) }
  }

  /// Keeps the entries of another list from now on.
  public func follow<M: Model, T>(_ query: EachQuery<M, T>) where Value == [EachRow<M, T>] {
    follow { try $0.fetch(query) }
  }

  /// Keeps a record; nil while it does not exist.
  public convenience init<M: Model>(_ ref: Ref<M>, in store: Store) where Value == Row<M>? {
    self.init(in: store, default: nil) { try $0.fetch(ref) }
  }
}
