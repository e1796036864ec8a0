import LMDB
import Synchronization

/// A state of a store for a screen that reads in parts while others write: all its reads see the same.
///
/// ```swift
/// let inbox = try store.pin("inbox")
/// let first = try inbox.read { tx in try tx.hits(firstPage) }
/// // Rounds of sync go by.
/// let second = try inbox.read { tx in try tx.hits(secondPage) }
/// ```
///
/// While it is held, the space of what later commits replace cannot be used again, and the data file grows. So a budget
/// bounds it; after that it reads the past from the log, or has expired. It ends when it is released.
public final class PinnedRead: Sendable {
  /// Who holds it, in the app's words.
  public let holder: String
  /// The last position of the log that it sees.
  public let position: Position
  public let budget: PinBudget

  private enum State {
    case held(Held)
    case reading(Held)
    /// The budget is used up.
    case spent
    case ended
  }

  /// Read by one thread at a time.
  private struct Held: @unchecked Sendable {
    let read: HeldRead
  }

  private let core: StoreCore
  private let state: Mutex<State>
  /// Held while a closure reads.
  private let turn = Mutex<Void>(())
  private let snapshot = Mutex<StoreSnapshot?>(nil)
  private let beginMilliseconds: Int64
  private let beginBytes: Int
  private let observation = Mutex<CommitObservation?>(nil)
  private let watch = Mutex<Task<Void, Never>?>(nil)

  init(_ core: StoreCore, _ holder: String, _ budget: PinBudget) throws {
    (self.core, self.holder, self.budget) = (core, holder, budget)
    beginMilliseconds = core.configuration.wallMilliseconds()
    let held = try StoreError.translating { HeldRead(try core.beginRead()) }
    position = try held.read { try $0.readView.log.lastPosition() }
    beginBytes = try StoreError.translating { try core.environment.usedBytes }
    state = Mutex(.held(Held(read: held)))
    observation.withLock { $0 = core.observers.add { [weak self] in self?.check() } }
    if core.configuration.writesOnCallingThread { return }
    // Commits of other processes, and time without commits.
    watch.withLock {
      $0 = Task { [weak self] in
        while let isHeld = self?.check(), isHeld { try? await Task.sleep(for: .milliseconds(500)) }
      }
    }
  }

  deinit { release() }

  /// Whether it holds space of the data file back.
  public var isHeld: Bool {
    state.withLock { state in
      switch state {
      case .held, .reading: true
      case .spent, .ended: false
      }
    }
  }

  /// Ends it. Later reads throw.
  public func release() {
    state.withLock { $0 = .ended }
    stopWatching()
  }

  /// Runs a closure that reads. One read runs at a time: the closure must not read it again.
  ///
  /// - Throws: what the closure throws; ``StoreError`` `expired` if it was released, or its budget is used up and it
  ///   does not read the log; `closed`, `damaged`, `system`.
  /// - Complexity: after the budget, the first read may fold the log: see ``LocalStore/snapshot(at:progress:)``.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    // A result need not be sendable: it does not leave by the lock.
    var result: R?
    let isDone = try turn.withLock { _ in
      let held = state.withLock { state -> Held? in
        guard case .held(let held) = state else { return nil }
        state = .reading(held)
        return held
      }
      guard let held else { return false }
      defer {
        // It may have been released meanwhile.
        state.withLock { if case .reading = $0 { $0 = .held(held) } }
      }
      result = try held.read.read(body)
      return true
    }
    if isDone { return result! }
    return try makeSnapshot().read(body)
  }

  private func makeSnapshot() throws -> StoreSnapshot {
    let isEnded = state.withLock { if case .ended = $0 { true } else { false } }
    guard !isEnded, budget.readsLogAfterwards else {
      throw StoreError(
        .expired,
        isEnded
          ? "the pinned read of “\(holder)” was released"
          : "the pinned read of “\(holder)” has expired: it may hold \(budget.bytes) bytes for "
            + "\(budget.seconds) seconds",
        hint: "pin the store again, and read from its start")
    }
    return try snapshot.withLock { snapshot in
      if let snapshot { return snapshot }
      let made = try StoreSnapshot(of: core, at: position) { _, _ in }
      snapshot = made
      return made
    }
  }

  // MARK: The budget

  /// Lets the state go if the budget is used up, unless it is being read: then the next commit looks again. Returns
  /// whether it is held.
  @discardableResult
  private func check() -> Bool {
    let milliseconds = core.configuration.wallMilliseconds() - beginMilliseconds
    guard let used = try? core.environment.usedBytes else { return false }
    let use = PinUse(
      holder: holder, position: position, seconds: Double(milliseconds) / 1000,
      bytes: max(0, used - beginBytes))
    guard use.bytes > budget.bytes || use.seconds > budget.seconds else { return isHeld }
    let isHeld = state.withLock { state -> Bool? in
      switch state {
      case .held:
        state = .spent
        return nil
      case .reading: return true
      case .spent, .ended: return false
      }
    }
    if let isHeld { return isHeld }
    stopWatching()
    budget.didEnd?(use)
    return false
  }

  private func stopWatching() {
    let observation = observation.withLock { $0.take() }
    observation?.cancel()
    watch.withLock { $0.take() }?.cancel()
  }
}

/// How long a pinned read may hold its state, and what comes then.
public struct PinBudget: Sendable {
  /// By how much the data file may grow meanwhile.
  public var bytes: Int
  public var seconds: Double
  /// Whether it reads the past from the log afterwards; if not, reads throw `expired`.
  public var readsLogAfterwards: Bool
  /// Called once when the budget is used up, with who held it: on a thread of the store, so it must be quick and must not
  /// write.
  public var didEnd: (@Sendable (PinUse) -> Void)?

  public init(
    bytes: Int = 64 << 20, seconds: Double = 300, readsLogAfterwards: Bool = true,
    didEnd: (@Sendable (PinUse) -> Void)? = nil
  ) {
    (self.bytes, self.seconds, self.readsLogAfterwards) = (bytes, seconds, readsLogAfterwards)
    self.didEnd = didEnd
  }
}

/// What a pinned read has used of its budget.
public struct PinUse: Hashable, Sendable, CustomStringConvertible {
  public let holder: String
  public let position: Position
  public let seconds: Double
  /// By how much the data file has grown meanwhile.
  public let bytes: Int

  public var description: String {
    "“\(holder)” has held the state at position \(position) for \(seconds) seconds, while the data file grew by "
      + "\(bytes) bytes"
  }
}
