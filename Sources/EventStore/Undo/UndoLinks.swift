import LMDB
import OperationFormat

/// Which transactions take others back. The log does not say it: this store alone knows it of its own writes.
///
/// A row of meta for each transaction that was undone: the word `undo`, a space and its position (8, big-endian); the
/// value has an element for each time that it was taken back or brought back since, in turns: 1 and the position of the
/// transaction that did it, or 0 and that of the last transaction then, if there was nothing to do (9 bytes each).
struct UndoLinks {
  /// A time at which a transaction was taken back or brought back.
  struct Turn {
    /// Where the log was.
    let position: Position
    /// Whether the transaction there did it; if not, there was nothing to do.
    let isDone: Bool
  }

  /// By what was undone first: when it was taken back and brought back since, in turns.
  private(set) var chains: [Position: [Turn]] = [:]
  /// What those transactions take back or bring back, by their positions.
  private(set) var roots: [Position: Position] = [:]

  init<Source: TableReading>(_ meta: MetaTable<Source>) throws {
    try meta.transaction.forEachEntry(in: meta.tables.meta, under: Self.prefix) { key, row in
      let root = Position(rawValue: try key.bigEndian64(at: Self.prefix.count))
      let chain = try stride(from: 0, to: row.byteCount, by: 9).map { offset in
        Turn(
          position: Position(rawValue: try row.bigEndian64(at: offset + 1)),
          isDone: row.extracting(offset..<offset + 1).hasPrefix([1]))
      }
      chains[root] = chain
      for turn in chain where turn.isDone { roots[turn.position] = root }
      return true
    }
  }

  fileprivate static let prefix = Array("undo ".utf8)

  fileprivate static func key(of root: Position) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(prefix)
    writer.append(bigEndian: root.rawValue)
    return writer.bytes
  }

  /// Whether a transaction is taken back.
  func isUndone(_ root: Position) -> Bool { !(chains[root] ?? []).count.isMultiple(of: 2) }

  /// The transaction that has taken another back or brought it back last; the other itself if none has. Nil if there was
  /// nothing to do.
  func last(of root: Position) -> Position? {
    guard let turn = chains[root]?.last else { return root }
    return turn.isDone ? turn.position : nil
  }

  /// The first transaction that was made no later than another, and taken back after that one was made: the other one
  /// has been seen over it.
  func firstUndone(after root: Position) -> Position {
    chains.filter { $0.key < root && isUndone($0.key) && $0.value.last!.position >= root }.keys.min() ?? root
  }

  /// The transactions that have no effect, as those that take each other back: without them a fold after a position gives
  /// the same.
  ///
  /// - Parameter root: one that is to be taken back or brought back by the next transaction of its chain.
  func idle(after position: Position, next root: Position) -> Set<Position> {
    var idle: Set<Position> = []
    for (first, chain) in chains where first > position && first != root {
      idle.formUnion(chain.filter(\.isDone).map(\.position))
      if isUndone(first) { idle.insert(first) }
    }
    idle.formUnion((chains[root] ?? []).filter(\.isDone).map(\.position))
    if !isUndone(root) { idle.insert(root) }
    return idle
  }
}

extension MetaTable where Source == TableStorage {
  /// Notes that a transaction takes another one back, or brings it back.
  ///
  /// - Parameters:
  ///   - position: of the transaction, which is the last one.
  ///   - isDone: false if there was nothing to do, and no transaction.
  func noteUndo(of root: Position, at position: Position, isDone: Bool = true) throws {
    let key = UndoLinks.key(of: root)
    let known = try transaction.withValue(of: key.span.bytes, in: tables.meta) { $0.bytes } ?? []
    var writer = ByteWriter()
    writer.append(known)
    writer.append(isDone ? 1 : 0)
    writer.append(bigEndian: position.rawValue)
    try transaction.put(writer.span, for: key.span.bytes, in: tables.meta)
  }
}
