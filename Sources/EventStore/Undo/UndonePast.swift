import LMDB
import OperationFormat

/// The records of a store as they would be without some transactions: folded into a branch of the past that is dropped
/// again.
///
/// An insertion into a list or a text stays, and so does a move: later operations name what they have made.
struct UndonePast {
  private let past: PastTables
  private let core: StoreCore

  init(_ core: StoreCore) throws {
    self.core = core
    past = try core.past()
  }

  /// Folds up to near a transaction, so that not much has to be folded again later.
  func prepare(for first: Position) throws {
    try PastFold(past, core).runMarks(through: Position(rawValue: first.rawValue - 1))
  }

  /// Calls one closure with the records as they were before a transaction, and another with the store and with what its
  /// records would be now without the transaction, and without those that have no effect.
  ///
  /// - Parameters:
  ///   - last: the transaction. Its removals in lists and texts are left out too.
  ///   - root: what it takes back or brings back; itself if nothing.
  ///   - first: from here on the log is folded without them.
  ///   - records: the names of the records that are of interest.
  func read(
    without last: Position, of root: Position, from first: Position, _ records: Set<[UInt8]>,
    before: (RecordReader) throws -> Void, now: (borrowing ReadTransaction, RecordReader) throws -> Void
  ) throws {
    func isWanted(_ record: RawSpan) -> Bool { records.contains(record.bytes) }
    let start = Position(rawValue: first.rawValue - 1)
    let part: (OperationKind, RawSpan) -> FoldedPart = { _, record in isWanted(record) ? .all : .nothing }
    try PastFold(past, core).withDroppedBranch(through: start, taking: part) { store, source in
      let idle = try UndoLinks(source.readView).idle(after: start, next: root)
      let replay = try LogReplay(store)
      let end = try source.readView.log.lastPosition()
      for at in first.rawValue...max(first, end).rawValue {
        let position = Position(rawValue: at)
        if position == last { try read(store, before) }
        try replay.fold(source, at: position) { kind, record in
          if !isWanted(record) { return .nothing }
          if position == last { return kind.makesUnits ? .units : .nothing }
          if idle.contains(position) { return kind.changesUnits ? .units : .nothing }
          return .all
        }
      }
      try read(store) { try now(source, $0) }
    }
  }

  private func read(_ store: StoreTransaction, _ body: (RecordReader) throws -> Void) throws {
    try store.settle()
    let storage = store.storage
    let view = ReadView(storage.transaction.alias(), tables: storage.tables, interned: storage.interned)
    try body(RecordReader(view))
  }
}

extension OperationKind {
  /// Whether it makes units of a list or a text.
  fileprivate var makesUnits: Bool {
    switch self {
    case .insertElements, .insertText, .moveElement: true
    default: false
    }
  }

  /// Whether it makes or removes units of a list or a text, or moves them.
  fileprivate var changesUnits: Bool {
    switch self {
    case .insertElements, .insertText, .moveElement, .removeElements, .removeText: true
    // The value of an element is a register.
    default: false
    }
  }
}
