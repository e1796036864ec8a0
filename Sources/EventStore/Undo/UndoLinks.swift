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
/// A chain of which a transaction is not in the log any more does not count. Those that are issued again are followed.
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
    for row in try Row.all(source.transaction, source.tables.meta) {
      var chain = Chain()
      for element in row.elements {
        let (tag, position) = (element.tag, element.position)
        if tag != Self.addition { chain.turns.append((position, tag == Self.done)) }
        if tag != Self.nothing { chain.done.insert(position) }
      }
      guard !chain.turns.isEmpty, try isThere(row.root), try chain.done.allSatisfy(isThere) else { continue }
      chains[row.root] = chain
      for position in chain.done { roots[position] = row.root }
    }
  }

  /// A row as it is stored.
  fileprivate struct Row: Equatable {
    var root: Position
    var elements: [Element]

    struct Element: Equatable {
      let tag: UInt8
      var position: Position
    }

    /// All rows that can be read.
    static func all(_ transaction: borrowing LMDBTransaction, _ meta: Table) throws -> [Row] {
      var rows: [Row] = []
      try transaction.forEachEntry(in: meta, under: UndoLinks.prefix) { key, row in
        guard key.byteCount == UndoLinks.prefix.count + 8, row.byteCount.isMultiple(of: 9) else {
          return true
        }
        rows.append(
          Row(
            root: Position(rawValue: try key.bigEndian64(at: UndoLinks.prefix.count)),
            elements: try stride(from: 0, to: row.byteCount, by: 9).map { offset in
              Element(
                tag: row.unsafeLoad(fromByteOffset: offset, as: UInt8.self),
                position: Position(rawValue: try row.bigEndian64(at: offset + 1)))
            }))
        return true
      }
      return rows
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

  /// How often anything was taken back or brought back.
  var turnCount: Int { chains.values.reduce(0) { $0 + $1.turns.count } }

  /// From where on the log must be folded to see what there would be with other transactions taken back. What was taken
  /// back or brought back from there on belongs to a transaction that comes after it.
  func start(for roots: some Sequence<Position>) -> Position {
    var start = roots.min()!
    // The last first: a chain matters by those after it.
    for (root, chain) in chains.sorted(by: { $0.key > $1.key })
    where root < start && chain.turns.last!.position >= start { start = root }
    return start
  }

  /// The transactions that have taken others back, or brought them back, from a position on.
  func made(from start: Position) -> Set<Position> {
    chains.reduce(into: []) { if $1.key >= start { $0.formUnion($1.value.done) } }
  }

  /// The transactions from a position on that are to have no effect, as if they had never been: those that are taken
  /// back, and all that have taken others back or brought them back.
  ///
  /// - Parameter roots: those that are taken back, or brought back, besides.
  func ineffective(from start: Position, toggling roots: Set<Position>) -> Set<Position> {
    var found: Set<Position> = []
    for (root, chain) in chains where root >= start { found.formUnion(chain.done) }
    for root in roots.union(chains.keys) where root >= start && isUndone(root) != roots.contains(root) {
      found.insert(root)
    }
    return found
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

  /// Follows transactions that have other positions now, because they were issued again or the log was put in another order.
  func moveUndos(_ moves: [Position: Position]) throws {
    if moves.isEmpty { return }
    for row in try UndoLinks.Row.all(transaction, tables.meta) {
      var moved = row
      moved.root = moves[row.root] ?? row.root
      for index in moved.elements.indices {
        let position = row.elements[index].position
        moved.elements[index].position = moves[position] ?? position
      }
      if moved == row { continue }
      _ = try transaction.delete(UndoLinks.key(of: row.root).span.bytes, in: tables.meta)
      var writer = ByteWriter()
      for element in moved.elements {
        writer.append(element.tag)
        writer.append(bigEndian: element.position.rawValue)
      }
      try transaction.put(writer.span, for: UndoLinks.key(of: moved.root).span.bytes, in: tables.meta)
    }
  }
}
