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

  /// Calls one closure with the records as they were before a transaction, and another with what they would be now
  /// without some.
  ///
  /// - Parameters:
  ///   - source: the store.
  ///   - last: the transaction. Its removals in lists and texts are left out too.
  ///   - links: says which have no effect.
  ///   - records: the names of the records that are of interest.
  func read(
    _ source: borrowing ReadTransaction, without last: Position, _ links: UndoLinks, _ records: Set<[UInt8]>,
    before: (RecordReader) throws -> Void, now: (RecordReader) throws -> Void
  ) throws {
    func isWanted(_ record: RawSpan) -> Bool { records.contains(record.bytes) }
    let root = links.roots[last] ?? last
    let first = links.firstUndone(after: root)
    let start = Position(rawValue: first.rawValue - 1)
    try PastFold(past, core).withDroppedBranch(
      source, through: start, taking: { isWanted($1) ? .all : .nothing }
    ) {
      mark, store in
      let idle = links.idle(after: mark, next: root)
      let replay = try LogReplay(store)
      let end = try source.readView.log.lastPosition()
      for at in first.rawValue...end.rawValue {
        let position = Position(rawValue: at)
        if position == last { try read(store, before) }
        try replay.fold(source, at: position) { kind, record in
          if !isWanted(record) { return .nothing }
          if position == last { return kind.makesUnits ? .units : .nothing }
          if idle.contains(position) { return kind.changesUnits ? .units : .nothing }
          return .all
        }
      }
      try read(store, now)
    }
  }

  private func read(_ store: StoreTransaction, _ body: (RecordReader) throws -> Void) throws {
    try store.flush()
    try store.storage.flush()
    store.fold.reset()
    try body(
      RecordReader(
        ReadView(
          store.storage.transaction.alias(), tables: store.storage.tables, interned: past.interned)))
  }
}

extension OperationKind {
  /// Whether it makes units of a list or a text.
  var makesUnits: Bool {
    switch self {
    case .insertElements, .insertText, .moveElement: true
    default: false
    }
  }

  /// Whether it works on a list or a text.
  var changesUnits: Bool {
    switch self {
    case .insertElements, .insertText, .moveElement, .removeElements, .removeText: true
    // The value of an element is a register.
    default: false
    }
  }
}
