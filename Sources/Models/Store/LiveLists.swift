import EventStore

/// The rows of a list, and again whenever they are others: see `Store.values(of:)`.
public struct LiveRows<Element: Identifiable & Equatable & Sendable>: AsyncSequence, Sendable
where Element.ID: Sendable {
  let values: ObservedValues<[Element]>

  public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var values: ObservedValues<[Element]>.Iterator
    fileprivate var last: [Element]?

    /// The rows, when they are others than the last ones; nil if the store was closed, or the task was cancelled.
    public mutating func next() async throws -> [Element]? {
      while let rows = try await values.next() {
        if rows == last { continue }
        last = rows
        return rows
      }
      return nil
    }
  }
}

/// What changes in a list: see `Store.changes(of:)`.
public struct LiveUpdates<Element: Identifiable & Equatable & Sendable>: AsyncSequence, Sendable
where Element.ID: Sendable {
  let values: ObservedValues<[Element]>

  public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var values: ObservedValues<[Element]>.Iterator
    fileprivate var last: [Element]?

    /// The next update; nil if the store was closed, or the task was cancelled.
    public mutating func next() async throws -> ListUpdate<Element>? {
      while let rows = try await values.next() {
        let update = ListUpdate(from: last ?? [], to: rows, values.origins)
        defer { last = rows }
        if last == nil || !update.isEmpty { return update }
      }
      return nil
    }
  }
}
