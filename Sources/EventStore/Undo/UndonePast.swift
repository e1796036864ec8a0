import LMDB
import OperationFormat

/// The records of a store as they would be if some transactions had never been: folded into a branch of the past that is
/// dropped again.
///
/// What those have inserted into a list or a text stays, and so do the places of their moves: later operations name them.
struct UndonePast {
  private let past: PastTables
  private let core: StoreCore

  init(_ core: StoreCore) throws {
    self.core = core
    past = try core.past()
  }

  /// Folds up to near a transaction, so that not much has to be folded again later.
  func prepare(for first: Position, check: () throws -> Void) throws {
    try PastFold(past, core).runMarks(through: Position(rawValue: first.rawValue - 1), check: check)
  }

  /// Calls one closure with the records as they would have been before some transactions, and another with the store and
  /// with what its records would be now.
  ///
  /// - Parameters:
  ///   - start: from here on the log is folded in another way.
  ///   - ineffective: the transactions that have no effect.
  ///   - roots: those before which the first closure is called.
  ///   - records: the names of the records that are of interest.
  ///   - check: called now and then; what it throws ends the work.
  func read(
    from start: Position, without ineffective: Set<Position>, before roots: Set<Position>,
    _ records: Set<[UInt8]>, check: () throws -> Void, before: (Position, RecordReader) throws -> Void,
    now: (borrowing ReadTransaction, RecordReader) throws -> Void
  ) throws {
    func isWanted(_ record: RawSpan) -> Bool { records.contains(record.bytes) }
    let part: (OperationKind, RawSpan) -> FoldedPart = { _, record in isWanted(record) ? .all : .nothing }
    try PastFold(past, core).withDroppedBranch(
      through: Position(rawValue: start.rawValue - 1), taking: part
    ) { store, source in
      let replay = try LogReplay(store)
      let end = try source.readView.log.lastPosition()
      for at in start.rawValue...max(start, end).rawValue {
        if at.isMultiple(of: 256) { try check() }
        let position = Position(rawValue: at)
        if roots.contains(position) { try read(store) { try before(position, $0) } }
        let isIneffective = ineffective.contains(position)
        try replay.fold(source, at: position) { kind, record in
          if !isWanted(record) { return .nothing }
          return !isIneffective ? .all : kind.makesUnits ? .units : .nothing
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
}
