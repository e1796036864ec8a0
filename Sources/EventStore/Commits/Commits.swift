/// The commits of a store, as they come: those of this process, of other processes, and those that a
/// replicator makes.
///
/// ```swift
/// for await commit in store.commits where commit.mayHaveChanged(post.record) { show(try store.fetch(post)) }
/// ```
///
/// It begins with the first commit after the property was read, so that nothing is missed between reading a
/// record and waiting for its changes. Nothing is stored for a slow reader: it gets one ``Commit`` for all that
/// was committed since it last asked. No read transaction is open while it waits.
///
/// It ends when the store is closed, and also when the file or an entry of the log cannot be read: `verify` says
/// what is damaged.
public struct Commits: AsyncSequence, Sendable {
  private let start: Start

  private struct Start: Sendable {
    let core: StoreCore
    let reader: CommitReader?
  }

  init(_ core: StoreCore) {
    start = Start(core: core, reader: try? CommitReader(core, listsTransactions: true))
  }

  public func makeAsyncIterator() -> Iterator { Iterator(start.core, start.reader) }

  public struct Iterator: AsyncIteratorProtocol {
    private var reader: CommitReader?
    private let wakes: AsyncStream<Void>
    private let observation: CommitObservation

    fileprivate init(_ core: StoreCore, _ reader: CommitReader?) {
      self.reader = reader
      let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      self.wakes = wakes
      observation = core.observers.add { wake.yield() }
    }

    /// The next commit; nil if the store was closed, or the task was cancelled.
    public mutating func next() async -> Commit? {
      do {
        while !Task.isCancelled, reader != nil {
          if let commit = try reader?.next() { return commit }
          for await _ in wakes { break }
        }
      } catch {
        reader = nil
      }
      return nil
    }
  }
}
