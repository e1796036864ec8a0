import EventStore

/// A list as it is, and again whenever it is another: what `Store.values(of:)` and `Store.changes(of:)` return.
public struct LiveList<Item: Identifiable & Equatable & Sendable, Element: Sendable>: AsyncSequence, Sendable
where Item.ID: Sendable {
  /// What to tell of the rows that were told of last, and those that are there now; nil for nothing.
  typealias Tell = @Sendable (_ old: [Item]?, _ new: [Item], Commit.Origins) -> Element?

  let values: ObservedValues<[Item]>
  let tell: Tell

  public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator(), tell: tell) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var values: ObservedValues<[Item]>.Iterator
    fileprivate let tell: Tell
    fileprivate var last: [Item]?

    /// The next element; nil if the store was closed, or the task was cancelled.
    public mutating func next() async throws -> Element? {
      while let rows = try await values.next() {
        defer { last = rows }
        if let element = tell(last, rows, values.origins) { return element }
      }
      return nil
    }
  }
}

/// The rows of a list, and again whenever they are others.
public typealias LiveRows<Item: Identifiable & Equatable & Sendable> = LiveList<Item, [Item]>
where Item.ID: Sendable

/// What changes in a list.
public typealias LiveUpdates<Item: Identifiable & Equatable & Sendable> = LiveList<Item, ListUpdate<Item>>
where Item.ID: Sendable

extension LiveList {
  init(rows values: ObservedValues<[Item]>) where Element == [Item] {
    self.init(values: values) { old, new, _ in old == new ? nil : new }
  }

  init(updates values: ObservedValues<[Item]>) where Element == ListUpdate<Item> {
    self.init(values: values) { old, new, origins in
      let update = ListUpdate(from: old ?? [], to: new, origins)
      return old == nil || !update.isEmpty ? update : nil
    }
  }
}
