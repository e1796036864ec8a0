import OperationFormat
import Testing

@testable import EventStore

/// Rows that were cut or changed give values or typed errors, but never trap: LMDB has no checksums.
@Suite("Damaged rows")
struct DamagedRows {
  /// A record with two conflicting values, one of them in its own row.
  static func makeRow() throws -> (row: [UInt8], element: [UInt8]) {
    let replicas = [ReplicaID(rawValue: 1), ReplicaID(rawValue: 2)]
    let storage = MemoryFoldStorage(replicas: replicas) { _, _, _, _, _ in nil }
    var fold = Fold(storage: storage)
    let state = StateNumber(rawValue: 1)
    let name: [UInt8] = [0x72]
    for (number, value) in [(UInt32(1), Value.string("hi")), (2, .bytes([UInt8](repeating: 7, count: 1100)))]
    {
      fold.context = CausalContext(
        zone: ZoneNumber(rawValue: 1), replica: ReplicaNumber(rawValue: number), epoch: 0, sequence: 1,
        base: nil)
      fold.timestamp = Timestamp(milliseconds: 1000, counter: UInt16(number))
      let encoded = try value.encoded()
      try fold.change(
        .set, NameNumber(rawValue: 2), of: name.span.bytes, in: state, type: NameNumber(rawValue: 1),
        operand: encoded.span.bytes, index: 0)
    }
    try fold.flush()
    let row = try #require(try storage.row(of: name.span.bytes, in: state))
    let prefix = ElementKey(
      state: state, record: 1, cell: CellNumber(register: NameNumber(rawValue: 2)))
    let element = try #require(storage.elements(under: prefix).first?.row)
    return (row, element)
  }

  /// Reads a whole record's row: returns the number of heads, or the error's code.
  static func read(_ row: [UInt8]) -> Result<Int, FormatError> {
    do throws(FormatError) {
      _ = try RecordRow.recordNumber(of: row.span.bytes)
      var heads = 0
      for cell in try RecordRow.cells(of: row.span.bytes) {
        let place = try RecordRow.place(of: cell, in: row.span.bytes)
        heads += try RecordRow.heads(of: place.body, in: row.span.bytes).count
      }
      return .success(heads)
    } catch {
      return .failure(error)
    }
  }

  /// Reads the values of a row's cells in one pass, and compares them with those of the general way, if that
  /// reads all.
  static func checkWinners(_ row: [UInt8]) {
    let found: [CellNumber: RecordRow.Winner]
    do {
      found = try winners(row)
    } catch {
      if case .success = read(row) { Issue.record("\(error): \(row)") }
      return
    }
    guard case .success = read(row) else { return }
    let plain = RecordRow.plainType(in: row.span.bytes)
    do {
      let cells = try RecordRow.cells(of: row.span.bytes)
      #expect(Set(found.keys).subtracting([.creation]) == Set(cells), "\(row)")
      for cell in cells where cell.isOfHeads {
        let place = try RecordRow.place(of: cell, in: row.span.bytes)
        let heads = try RecordRow.heads(of: place.body, in: row.span.bytes)
        let greatest = RecordRow.Winner(
          payload: heads[0].payload, apart: heads[0].isApart ? heads[0].head.id : nil)
        #expect(found[cell] == greatest, "\(row)")
        let alone = try RecordRow.winner(of: cell, in: row.span.bytes)
        #expect(alone == greatest, "\(row)")
        if cell != .existence, let plain {
          let behind = try RecordRow.winner(of: cell, in: row.span.bytes, from: plain.fields)
          #expect(behind == greatest, "\(row)")
        }
        let absent = CellNumber(rawValue: cell.rawValue &+ 1)
        if !cells.contains(absent) {
          let none = try RecordRow.winner(of: absent, in: row.span.bytes)
          #expect(none == nil, "\(row)")
        }
        if cell == .existence, let plain {
          let existence = try Existence(payload: row.span.bytes.extracting(heads[0].payload))
          #expect(heads.total == 1 && existence == .alive(type: plain.type), "\(row)")
        }
      }
    } catch {
      Issue.record(error)
    }
  }

  private static func winners(_ row: [UInt8]) throws -> [CellNumber: RecordRow.Winner] {
    var found: [CellNumber: RecordRow.Winner] = [:]
    let bytes = row.span.bytes
    var walk = try RecordRow.WinnerWalk(bytes)
    while let (cell, winner) = try walk.next() { found[cell] = winner }
    return found
  }

  @Test("a record's row, cut at each byte and with each bit flipped")
  func recordRow() throws {
    let row = try Self.makeRow().row
    let heads = try Self.read(row).get()
    #expect(heads == 4)
    var whole = 0
    for count in 0..<row.count {
      // A row that is cut between two cells is a row with fewer cells.
      Self.checkWinners(Array(row.prefix(count)))
      if case .success(let found) = Self.read(Array(row.prefix(count))) {
        #expect(found < heads)
        whole += 1
      }
    }
    #expect(whole == 3)
    var refused = 0
    for bit in 0..<row.count * 8 {
      var flipped = row
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      Self.checkWinners(flipped)
      if case .failure = Self.read(flipped) { refused += 1 }
    }
    #expect(refused > row.count)
  }

  @Test("a head in its own row, cut at each byte and with each bit flipped")
  func element() throws {
    let element = try Self.makeRow().element
    let owned = try OwnedHead(apart: element.span.bytes)
    #expect(owned.payload.count == 1103)
    for count in 0..<element.count {
      let cut = Array(element.prefix(count))
      #expect(throws: FormatError.self) { try OwnedHead(apart: cut.span.bytes) }
    }
    for bit in 0..<element.count * 8 {
      var flipped = element
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      let found = Result { try OwnedHead(apart: flipped.span.bytes) }
      if case .success(let found) = found { #expect(found != owned) }
    }
  }
}
