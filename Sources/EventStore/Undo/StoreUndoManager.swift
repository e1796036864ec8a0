import Synchronization

/// What an author can take back and bring back, last write first. It reads the log: so it knows also the writes of
/// before the app was started, and those of other processes.
///
/// ```swift
/// let undoManager = store.undoManager(author: "ann")
/// if try undoManager.canUndo { try await undoManager.undo() }
/// ```
public final class StoreUndoManager: Sendable {
  private let core: StoreCore
  private let author: String?
  private let levels: Int
  private let schemaVersion: UInt64?

  /// A write that can be taken back or brought back.
  public struct Item: Hashable, Sendable {
    /// Of one of its transactions.
    public let position: Position
    /// What the app has called it.
    public let label: String?
  }

  init(_ core: StoreCore, author: String?, levels: Int, schemaVersion: UInt64?) {
    (self.core, self.author, self.levels, self.schemaVersion) = (core, author, levels, schemaVersion)
  }

  /// The write that ``undo()`` takes back; nil if there is none.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  public var next: Item? { get throws { try core.read { try items($0).undo } } }

  /// The write that ``redo()`` brings back: the one that was taken back last, unless the author has written since.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  public var nextRedo: Item? { get throws { try core.read { try items($0).redo } } }

  /// Whether there is anything to take back.
  public var canUndo: Bool { get throws { try next != nil } }

  /// Whether there is anything to bring back.
  public var canRedo: Bool { get throws { try nextRedo != nil } }

  /// Takes the last write back that is not taken back yet.
  ///
  /// - Returns: nil if there is none.
  /// - Throws: as `LocalStore.undo(_:author:schemaVersion:)`.
  @discardableResult
  public func undo() async throws -> UndoReport? {
    try await run(undoes: true)
  }

  /// Brings back what was taken back last.
  ///
  /// - Returns: nil if there is nothing.
  /// - Throws: as `LocalStore.redo(_:author:schemaVersion:)`.
  @discardableResult
  public func redo() async throws -> UndoReport? {
    try await run(undoes: false)
  }

  private func run(undoes: Bool) async throws -> UndoReport? {
    while let next = try undoes ? next : nextRedo {
      do {
        return try await UndoRun(core, author: author, schemaVersion: schemaVersion).run(
          next.position, undoes: undoes)
      } catch let error as StoreError where error.code == .notUndoable {
        // Another call was first: then this one takes the next. Readers see that call only once its commit is over.
        try await core.perform { _ in }
        guard try (undoes ? self.next : nextRedo) != next else { throw error }
      }
    }
    return nil
  }

  // MARK: Reading the log

  /// Of so many transactions it looks at most who has made them.
  private static let entriesMax = 100_000

  private func items(_ read: borrowing ReadTransaction) throws -> (undo: Item?, redo: Item?) {
    let links = try UndoLinks(read.readView)
    var (undo, redo): (Item?, (item: Item, at: Position)?)
    /// The last write that takes nothing back.
    var newest = Position.start
    var before: Position?
    var (count, known) = (0, Set<UInt64>())
    var written = WrittenInZones()
    for _ in 0..<Self.entriesMax {
      guard count < levels, undo == nil, let entry = try read.entry(before: before) else { break }
      before = entry.position
      let made = entry.transaction
      guard author == nil || made.author == author, links.roots[entry.position] == nil,
        try written.isHere(made, read), made.operations.contains(where: { $0.record != nil })
      else { continue }
      // What was compacted ends it: what comes before is too.
      if try read.isCompacted(made.id, in: made.zone) { break }
      // One of a write in several zones stands for all.
      if let write = made.writeID, !known.insert(write).inserted { continue }
      count += 1
      newest = max(newest, entry.position)
      let item = Item(position: entry.position, label: made.label)
      if !links.isUndone(entry.position) {
        undo = item
      } else if let last = links.chains[entry.position]?.turns.last?.position, last >= redo?.at ?? .start {
        redo = (item, last)
      }
    }
    return (undo, redo.flatMap { $0.at >= newest ? $0.item : nil })
  }
}

/// What this store wrote, in the zones that were asked for.
private struct WrittenInZones {
  private var zones: [ZoneID: WrittenHere] = [:]

  mutating func isHere(_ transaction: LogTransaction, _ read: borrowing ReadTransaction) throws -> Bool {
    if zones[transaction.zone] == nil {
      do {
        zones[transaction.zone] = try read.writtenHere(in: transaction.zone)
      } catch let error as StoreError where error.code == .zoneUnknown {
        return false
      }
    }
    return zones[transaction.zone]?.writer(of: transaction.id) == .thisStore
  }
}
