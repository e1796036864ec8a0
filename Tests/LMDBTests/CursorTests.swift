import LMDB
import Testing

@Suite("A cursor over few entries")
struct CursorTests {
  let directory = TemporaryDirectory()

  private enum Move: CaseIterable {
    case first, last, next, previous, delete, putInside, putAtEnd
  }

  @Test("every sequence of four moves over every table of up to three entries moves to the right place")
  func allMoves() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    let count = Move.allCases.count
    for present in 0..<8 {
      let keys = (0..<3).filter { present & (1 << $0) != 0 }.map { UInt8(2 * $0 + 1) }
      let transaction = try environment.beginWrite()
      var start = Oracle()
      for key in keys {
        try transaction.put([key], [key], table)
        start.put([key], [key])
      }
      for number in 0..<count * count * count * count {
        let moves = [1, count, count * count, count * count * count].map {
          Move.allCases[number / $0 % count]
        }
        let child = transaction.beginNested()
        var oracle = start
        try Self.run(moves, child, table, &oracle)
        child.abort()
      }
    }
  }

  private static func run(
    _ moves: [Move], _ transaction: borrowing Transaction, _ table: Table, _ oracle: inout Oracle
  ) throws {
    var cursor = try transaction.openCursor(table)
    var place = OracleCursor()
    for move in moves {
      let found: Bool
      let expected: Bool
      switch move {
      case .first: (found, expected) = (try cursor.first(), place.first(oracle))
      case .last: (found, expected) = (try cursor.last(), place.last(oracle))
      case .next: (found, expected) = (try cursor.next(), place.next(oracle))
      case .previous: (found, expected) = (try cursor.previous(), place.previous(oracle))
      case .delete:
        guard place.entry(oracle) != nil else { continue }
        try cursor.deleteCurrent()
        place.deleteCurrent(&oracle)
        continue
      case .putInside, .putAtEnd:
        let key: Bytes = [move == .putInside ? 2 : 9]
        try transaction.put(key, key, table)
        oracle.put(key, key)
        // A cursor on an entry stays on it. One whose entry was deleted must be moved before it goes on.
        let stays = place.entry(oracle) != nil
        found = try stays || cursor.seek(to: key.span.bytes)
        expected = stays || place.seek(to: key, oracle)
      }
      let pair = found ? cursor.withEntry { Pair(key: Bytes($0), value: Bytes($1)) } : nil
      if found != expected || pair != place.entry(oracle) {
        Issue.record("\(moves): at \(move), \(found) with \(pair as Any), in \(oracle.pairs.map(\.key))")
        return
      }
    }
  }

  @Test("every key is found in every table of up to four entries")
  func allSeeks() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    for present in 0..<16 {
      let keys = (0..<4).filter { present & (1 << $0) != 0 }.map { [UInt8(2 * $0 + 1)] as Bytes }
      let transaction = try environment.beginWrite()
      for key in keys { try transaction.put(key, key, table) }
      var cursor = try transaction.openCursor(table)
      for sought in [[]] + (UInt8(0)...8).map({ [$0] }) + [[3, 0]] as [Bytes] {
        let after = keys.first { !$0.lexicographicallyPrecedes(sought) }
        let before = keys.last { $0.lexicographicallyPrecedes(sought) }
        let isAfter = try cursor.seek(atOrAfter: sought.span.bytes)
        #expect((isAfter ? Self.key(cursor) : nil) == after)
        let isBefore = try cursor.seek(before: sought.span.bytes)
        #expect((isBefore ? Self.key(cursor) : nil) == before)
        let isFound = try cursor.seek(to: sought.span.bytes)
        #expect((isFound ? Self.key(cursor) : nil) == (keys.contains(sought) ? sought : nil))
      }
    }
  }

  private static func key(_ cursor: borrowing Cursor) -> Bytes {
    cursor.withEntry { key, _ in Bytes(key) }
  }

  @Test("an entry that was overwritten without the cursor is read with its new value")
  func writtenOver() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    let transaction = try environment.beginWrite()
    for key in UInt8(1)...9 { try transaction.put([key], [key], table) }
    var cursor = try transaction.openCursor(table)
    let sought: Bytes = [5]
    #expect(try cursor.seek(to: sought.span.bytes))
    try transaction.put(Bytes(repeating: 7, count: 3000), [5], table)
    try transaction.put(Bytes(repeating: 8, count: 3000), [4], table)
    _ = try transaction.delete([6], table)
    let value = cursor.withEntry { _, value in Bytes(value) }
    #expect(value == Bytes(repeating: 7, count: 3000))
    #expect(try cursor.next())
    let next = Self.key(cursor)
    #expect(next == [7])
  }
}
