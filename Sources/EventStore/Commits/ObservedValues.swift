/// What a closure reads, and again whenever that may be another: see `LocalStore.values(_:)`.
///
/// The first element comes at once. The closure runs in a read of its own for each, in the task that iterates, and
/// never for a commit of which the last read shows that it changes nothing in what was read. No read transaction
/// is open while the task waits. Changes that come while the task does something else are one element.
///
/// It ends when the store is closed. An error of the closure ends it too.
public struct ObservedValues<Element: Sendable>: AsyncSequence, Sendable {
  private let hub: ObserverHub
  private let body: @Sendable (borrowing ReadTransaction) throws -> Element
  /// Whether an element need not be given after another; nil if all are given.
  private let isSame: (@Sendable (Element, Element) -> Bool)?

  init(
    _ hub: ObserverHub, isSame: (@Sendable (Element, Element) -> Bool)? = nil,
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Element
  ) {
    (self.hub, self.isSame, self.body) = (hub, isSame, body)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(hub, isSame, body) }

  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let hub: ObserverHub
    private let body: @Sendable (borrowing ReadTransaction) throws -> Element
    private let isSame: (@Sendable (Element, Element) -> Bool)?
    /// What was given last, if it is to be compared.
    private var last: Element?
    private var observer: ObserverHub.Observer?
    private var isDone = false
    /// Who made the commits that woke it for the last element, and those that came until then.
    package private(set) var origins: Commit.Origins = []

    fileprivate init(
      _ hub: ObserverHub, _ isSame: (@Sendable (Element, Element) -> Bool)?,
      _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Element
    ) {
      (self.hub, self.isSame, self.body) = (hub, isSame, body)
    }

    /// What the closure reads next; nil if the store was closed, or the task was cancelled.
    ///
    /// - Throws: what the closure throws; ``StoreError`` `damaged`, `system`.
    public mutating func next() async throws -> Element? {
      while !isDone {
        if let observer {
          for await _ in observer.changes { break }
        }
        if Task.isCancelled { (isDone, observer) = (true, nil) }
        let read = try readNow()
        guard let read, let isSame else { return read }
        if let last, isSame(last, read) { continue }
        last = read
        return read
      }
      return nil
    }

    /// What the closure reads, without waiting: nil if the sequence is at its end.
    package mutating func readNow() throws -> Element? {
      if isDone { return nil }
      do {
        let observer = try observer ?? hub.makeObserver()
        self.observer = observer
        origins = observer.takeOrigins()
        return try observer.read(body)
      } catch {
        (isDone, observer) = (true, nil)
        if (error as? StoreError)?.code == .closed { return nil }
        throw error
      }
    }
  }
}
