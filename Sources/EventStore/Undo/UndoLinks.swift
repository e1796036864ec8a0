import LMDB
import OperationFormat

/// Which transactions take others back. The log does not say it: this store alone knows it of its own writes.
///
/// A row of meta for each transaction that was undone: the word `undo`, a space and its position (8, big-endian); the
/// value has elements of 9 bytes, a tag and a position (8, big-endian):
///
/// | tag | |
/// |---|---|
/// | 0 | it was taken back or brought back, in turns, and there was nothing to do: the last position then |
/// | 1 | it was taken back or brought back, in turns, by the transaction there |
/// | 2 | a transaction that belongs to the one before |
///
/// A chain whose transactions are not in the log any more, as those that were issued again, does not count.
struct UndoLinks {
  /// What a row says of a transaction that was undone.
  struct Chain {
    /// When it was taken back and brought back, in turns.
    var turns: [(position: Position, isDone: Bool)] = []
    /// The transactions that did it.
    var done: Set<Position> = []
  }

  /// By the transaction that was undone first.
  private(set) var chains: [Position: Chain] = [:]
  /// What those transactions take back or bring back, by their positions.
  private(set) var roots: [Position: Position] = [:]

  init<Source: TableReading>(_ source: Source) throws {
    let last = try source.log.lastPosition()
    func isThere(_ position: Position) throws -> Bool {
      try position > .start && position <= last
        && source.log.withEntryUnlessRemoved(at: position) { _, _ in true } ?? false
    }
    try source.transaction.forEachEntry(in: source.tables.meta, under: Self.prefix) { key, row in
      guard key.byteCount == Self.prefix.count + 8, row.byteCount.isMultiple(of: 9) else { return true }
      let root = Position(rawValue: try key.bigEndian64(at: Self.prefix.count))
      var chain = Chain()
      for offset in stride(from: 0, to: row.byteCount, by: 9) {
        let position = Position(rawValue: try row.bigEndian64(at: offset + 1))
        let tag = row.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        if tag != Self.addition { chain.turns.append((position, tag == Self.done)) }
        if tag != Self.nothing { chain.done.insert(position) }
      }
      guard !chain.turns.isEmpty, try isThere(root), try chain.done.allSatisfy(isThere) else { return true }
      chains[root] = chain
      for position in chain.done { roots[position] = root }
      return true
    }
  }

  fileprivate static let (nothing, done, addition): (UInt8, UInt8, UInt8) = (0, 1, 2)
  fileprivate static let prefix = Array("undo ".utf8)

  fileprivate static func key(of root: Position) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(prefix)
    writer.append(bigEndian: root.rawValue)
    return writer.bytes
  }

  /// Whether a transaction is taken back.
  func isUndone(_ root: Position) -> Bool { !(chains[root]?.turns ?? []).count.isMultiple(of: 2) }

  /// The transaction whose opposite is to be done next: the other one itself, or what has taken it back or brought it
  /// back last. Nil if what was taken back left nothing to bring back.
  func last(of root: Position) -> Position? {
    guard let turn = chains[root]?.turns.last else { return root }
    return turn.isDone ? turn.position : isUndone(root) ? nil : root
  }

  /// The first transaction that was made no later than another, and taken back after that one was made: the other one
  /// has been seen over it.
  func firstUndone(after root: Position) -> Position {
    chains.filter { $0.key < root && isUndone($0.key) && $0.value.turns.last!.position >= root }.keys.min()
      ?? root
  }

  /// The transactions after a position that have no effect, as those that take each other back: without them a fold
  /// gives the same.
  ///
  /// - Parameter root: one that is to be taken back or brought back by the next transaction of its chain.
  func idle(after position: Position, next root: Position) -> Set<Position> {
    var idle: Set<Position> = []
    for (first, chain) in chains where first > position && first != root {
      idle.formUnion(chain.done)
      if isUndone(first) { idle.insert(first) }
    }
    idle.formUnion(chains[root]?.done ?? [])
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
  ///   - isAddition: whether it belongs to the one before.
  func noteUndo(
    of root: Position, at position: Position, isDone: Bool = true, isAddition: Bool = false
  ) throws {
    let key = UndoLinks.key(of: root)
    let known = try transaction.withValue(of: key.span.bytes, in: tables.meta) { $0.bytes } ?? []
    var writer = ByteWriter()
    writer.append(known)
    writer.append(isAddition ? UndoLinks.addition : isDone ? UndoLinks.done : UndoLinks.nothing)
    writer.append(bigEndian: position.rawValue)
    try transaction.put(writer.span, for: key.span.bytes, in: tables.meta)
  }
}
