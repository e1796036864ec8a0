import LMDB
import OperationFormat
import Synchronization

/// Finds out for all observers of a store what a commit may have changed of what they have read. It costs in
/// proportion to the commit, and to the observers that it concerns.
final class ObserverHub: Sendable {
  fileprivate struct State {
    var lastNumber: UInt64 = 0
    var observers: [UInt64: AsyncStream<Void>.Continuation] = [:]
    /// Who made the changes that observers were told of and have not read.
    var origins: [UInt64: Commit.Origins] = [:]
    /// Those that read, or have not read since they were told of changes.
    var busy: Set<UInt64> = []
    /// Observers that have read something and wait, with it and LMDB's number of the commit that they read.
    var waiting: [UInt64: (footprint: ReadFootprint, id: UInt64)] = [:]
    var index = FootprintIndex()
    /// The last commit that was looked at.
    var lastID: UInt64 = 0
    var watch: Task<Void, Never>?
    /// Where no task looks at the commits: how far ``lookAtCommits()`` is.
    var reader: CommitReader?
  }

  /// After it has looked at commits it waits so long, so that many are one look.
  private static let pause = Duration.milliseconds(2)

  private let core: StoreCore
  private let state = Mutex(State())

  init(_ core: StoreCore) { self.core = core }

  deinit { state.withLock { $0.watch?.cancel() } }

  // MARK: Observers

  /// An observer, until it is released.
  final class Observer: Sendable {
    private let hub: ObserverHub
    fileprivate let number: UInt64
    /// An element says that what was read may be another now.
    let changes: AsyncStream<Void>

    fileprivate init(_ hub: ObserverHub, _ number: UInt64, _ changes: AsyncStream<Void>) {
      (self.hub, self.number, self.changes) = (hub, number, changes)
    }

    deinit { hub.remove(number) }

    /// Who made the changes since the last call.
    func takeOrigins() -> Commit.Origins { hub.takeOrigins(of: number) }

    /// Reads, and waits for changes of what was read.
    func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
      let (value, footprint, id) = try hub.core.read { read in
        read.readView.footprint = ReadFootprint()
        let value = try body(read)
        return (value, read.readView.footprint ?? ReadFootprint(), read.transaction.id)
      }
      hub.add(footprint, of: number, readAt: id)
      return value
    }

    /// Whether it was told of changes, or has not read yet.
    var isTold: Bool { hub.state.withLock { $0.busy.contains(number) } }
  }

  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  func makeObserver() throws -> Observer {
    let (changes, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = try state.withLock { state in
      if state.watch == nil, state.reader == nil {
        let reader = try CommitReader(core, listsTransactions: false)
        state.lastID = reader.seen.id
        if core.configuration.writesOnCallingThread {
          state.reader = reader
        } else {
          state.watch = watch(reader)
        }
      }
      state.lastNumber += 1
      state.observers[state.lastNumber] = tell
      state.busy.insert(state.lastNumber)
      return state.lastNumber
    }
    return Observer(self, number, changes)
  }

  private func remove(_ number: UInt64) {
    let ended = state.withLock { state -> Task<Void, Never>? in
      state.observers[number] = nil
      state.forget(number)
      state.origins[number] = nil
      state.busy.remove(number)
      guard state.observers.isEmpty else { return nil }
      state.reader = nil
      return state.watch.take()
    }
    ended?.cancel()
  }

  private func takeOrigins(of number: UInt64) -> Commit.Origins {
    state.withLock { $0.origins.removeValue(forKey: number) ?? [] }
  }

  private func add(_ footprint: ReadFootprint, of number: UInt64, readAt id: UInt64) {
    let missed = state.withLock { state -> AsyncStream<Void>.Continuation? in
      guard let tell = state.observers[number] else { return nil }
      state.forget(number)
      // Commits that were looked at meanwhile may concern it.
      guard state.lastID <= id else { return tell }
      state.busy.remove(number)
      state.wait(number, (footprint, id))
      return nil
    }
    missed?.yield()
  }

  // MARK: Commits

  private func watch(_ reader: CommitReader) -> Task<Void, Never> {
    let (commits, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let observation = core.observers.add { wake.yield() }
    return Task { [weak self] in
      var reader = reader
      for await _ in commits {
        guard let self, self.lookAtCommits(&reader) else { break }
        try? await Task.sleep(for: Self.pause)
      }
      observation.cancel()
    }
  }

  /// Looks at the commits since the last call, where no task does.
  func lookAtCommits() {
    guard var reader = state.withLock({ $0.reader }) else { return }
    _ = lookAtCommits(&reader)
    state.withLock { $0.reader = reader }
  }

  /// Tells the observers that a commit since the last call may concern. Returns false at the end of the store.
  private func lookAtCommits(_ reader: inout CommitReader) -> Bool {
    let commit: Commit
    do {
      guard let next = try reader.next() else { return true }
      commit = next
    } catch {
      // They find out when they read.
      tell { state in state.take(Set(state.observers.keys), []) }
      return (error as? StoreError)?.code != .closed
    }
    let seen = reader.seen
    var tests: [UInt64: [FootprintIndex.Test]] = [:]
    tell { state in
      // Another task may have looked further, if all observers left and others came.
      state.lastID = max(state.lastID, seen.id)
      // Those that read just now may have missed it.
      for number in state.busy { state.origins[number, default: []].formUnion(commit.origins) }
      let (concerned, unclear) = state.index.observers(concernedBy: commit, seen)
      tests = unclear.filter { (state.waiting[$0.key]?.id ?? .max) < seen.id }
      return state.take(concerned.filter { (state.waiting[$0]?.id ?? 0) < seen.id }, commit.origins)
    }
    for (number, tests) in tests {
      // Each sees the store by itself: what was read for another is not noted again.
      let outcome = try? core.read { read in
        read.readView.footprint = ReadFootprint()
        let isConcerned = try tests.contains { try $0.holds(read) }
        return (isConcerned, read.readView.footprint ?? ReadFootprint())
      }
      tell { state in
        guard let (isConcerned, footprint) = outcome, !isConcerned else {
          return state.take([number], commit.origins)
        }
        // Whether the record fulfils the query may be another's doing.
        if var waiting = state.waiting[number], !footprint.isPart(of: waiting.footprint) {
          state.forget(number)
          waiting.footprint.add(footprint)
          state.wait(number, waiting)
        }
        return []
      }
    }
    return true
  }

  private func tell(_ choose: (inout State) -> [AsyncStream<Void>.Continuation]) {
    for observer in state.withLock({ choose(&$0) }) { observer.yield() }
  }
}

extension ObserverHub.State {
  fileprivate mutating func wait(_ number: UInt64, _ read: (footprint: ReadFootprint, id: UInt64)) {
    waiting[number] = read
    index.add(read.footprint, of: number)
  }

  fileprivate mutating func forget(_ number: UInt64) {
    if let old = waiting.removeValue(forKey: number) { index.remove(old.footprint, of: number) }
  }

  /// The observers to tell of changes.
  fileprivate mutating func take(
    _ numbers: Set<UInt64>, _ origins: Commit.Origins
  ) -> [AsyncStream<Void>.Continuation] {
    numbers.compactMap { number in
      guard let observer = observers[number] else { return nil }
      forget(number)
      busy.insert(number)
      self.origins[number, default: []].formUnion(origins)
      return observer
    }
  }
}
