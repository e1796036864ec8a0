import OperationFormat
import Synchronization

/// What the commits of this process have changed, while somebody reads them.
final class CommitJournal: Sendable {
  final class Note: Sendable {
    /// LMDB's number of the transaction.
    let id: UInt64
    /// Whether its entries of the log tell all that it changed.
    let isInLog: Bool
    let before: Position
    let position: Position
    /// What it changed of zones, besides `states` and `records`.
    let zones: [ZoneID: Commit.Changes]
    /// The states of which any record may have changed.
    let states: Set<StateNumber>
    let records: [ChangeNotes.RecordKey: ChangeNotes.NotedFields]
    let assets: Set<ContentHash>
    let origins: Commit.Origins
    /// The keys of indexes that came, went or changed; nil if they are too many.
    let indexKeys: Set<[UInt8]>?

    init(
      id: UInt64, isInLog: Bool, before: Position, position: Position, zones: [ZoneID: Commit.Changes],
      states: Set<StateNumber>, records: [ChangeNotes.RecordKey: ChangeNotes.NotedFields],
      assets: Set<ContentHash>, origins: Commit.Origins, indexKeys: Set<[UInt8]>?
    ) {
      (self.id, self.isInLog, self.before, self.position) = (id, isInLog, before, position)
      (self.zones, self.states, self.records) = (zones, states, records)
      (self.assets, self.origins, self.indexKeys) = (assets, origins, indexKeys)
    }

    fileprivate var recordCount: Int { 1 + records.count + (indexKeys?.count ?? 0) }
  }

  private struct State {
    /// In the order of their numbers, without gaps other than commits of other processes.
    var notes: [Note] = []
    /// The commit that is being made.
    var unsettled: UInt64?
    /// How many records they name.
    var records = 0
    var watch: FileWatch?
  }

  /// A reader that is further behind reads the log instead.
  private static let (notesMax, recordsMax) = (1024, 1 << 16)

  private let state = Mutex(State())
  /// It changes under the lock of the state.
  private let readers = Atomic(0)

  /// Tells the observers that there may be something new.
  private let tell: @Sendable () -> Void

  init(_ tell: @escaping @Sendable () -> Void = {}) { self.tell = tell }

  /// Whether anybody reads the commits.
  var isRead: Bool { readers.load(ordering: .relaxed) > 0 }

  /// Adds a commit that is about to be made.
  func add(_ note: Note) {
    state.withLock { state in
      state.notes.append(note)
      state.unsettled = note.id
      state.records += note.recordCount
      guard state.notes.count > 2 * Self.notesMax || state.records > Self.recordsMax else { return }
      var dropped = 0
      while state.notes.count - dropped > Self.notesMax || state.records > Self.recordsMax / 2,
        dropped < state.notes.count - 1
      {
        state.records -= state.notes[dropped].recordCount
        dropped += 1
      }
      state.notes.removeFirst(dropped)
    }
  }

  /// Says what became of the commit that was added last. One that failed may be in the store all the same: then it is
  /// read as another process's.
  func settle(_ id: UInt64, isCommitted: Bool) {
    state.withLock { state in
      state.unsettled = nil
      guard !isCommitted, let last = state.notes.last, last.id == id else { return }
      state.records -= last.recordCount
      state.notes.removeLast()
    }
    if !isCommitted { tell() }
  }

  /// Whether it is not known yet what became of one of the commits up to a number. The observers are told then.
  func isUnsettled(through id: UInt64) -> Bool {
    state.withLock { $0.unsettled.map { $0 <= id } ?? false }
  }

  /// The commits of this process after one and through another.
  func notes(after first: UInt64, through last: UInt64) -> [Note] {
    state.withLock { state in
      let lower = state.notes.lastIndex { $0.id <= first }.map { $0 + 1 } ?? 0
      let upper = state.notes.lastIndex { $0.id <= last }.map { $0 + 1 } ?? 0
      // Not a slice: the next note would copy all.
      return lower < upper ? Array(state.notes[lower..<upper]) : []
    }
  }

  /// The last commit of this process that is noted.
  var lastID: UInt64? { state.withLock { $0.notes.last?.id } }

  // MARK: Readers

  /// Counts a reader until what it returns is released.
  func read(_ makeWatch: () -> FileWatch?) -> Reading {
    state.withLock { state in
      if readers.add(1, ordering: .relaxed).newValue == 1 { state.watch = makeWatch() }
    }
    return Reading(self)
  }

  final class Reading: Sendable {
    private let journal: CommitJournal

    fileprivate init(_ journal: CommitJournal) { self.journal = journal }

    deinit { journal.endReading() }
  }

  private func endReading() {
    let ended: FileWatch? = state.withLock { state in
      guard readers.subtract(1, ordering: .relaxed).newValue == 0 else { return nil }
      state.notes.removeAll()
      state.records = 0
      return state.watch.take()
    }
    ended?.cancel()
  }
}
