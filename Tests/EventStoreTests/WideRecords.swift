import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Records of very many fields, in a store")
struct WideRecords {
  let directory = TemporaryDirectory()

  private func field(_ number: Int) -> Name { Name("field\(number)") }

  @Test("are read cell by cell from rows with only that cell, whose bytes are those of the whole row")
  func readCellByCell() throws {
    let (first, last) = (1 as UInt32, 3000 as UInt32)
    var writer = ByteWriter()
    writer.append(1)
    writer.append(0)
    writer.append(littleEndian: 7 as UInt32)
    func add(_ cell: CellNumber, _ body: [UInt8]) {
      writer.append(varint: UInt64(cell.rawValue))
      writer.append(count: body.count)
      writer.append(body.span.bytes)
    }
    add(.existence, [9, 9, 9])
    for field in first...last {
      add(CellNumber(NameNumber(rawValue: field), .register), [1, 2, UInt8(field % 200)])
    }
    let row = writer.bytes
    let index = try CellIndex(row.span.bytes)
    #expect(index.entries.map(\.cell) == (try RecordRow.cells(of: row.span.bytes)))
    #expect(index.entries.count == Int(last) + 1)
    var byteCount = 0
    for entry in index.entries {
      #expect(index.entry(of: entry.cell).bytes == entry.bytes)
      let whole = row.span.bytes.extracting(entry.body).bytes
      try index.withRow(of: entry, in: row.span.bytes) { part in
        byteCount += part.byteCount
        let place = try RecordRow.place(of: entry.cell, in: part)
        #expect(part.extracting(place.body).bytes == whole)
        #expect(try RecordRow.recordNumber(of: part) == 7)
        #expect(try part.extracting(RecordRow.place(of: .existence, in: part).body).bytes == [9, 9, 9])
      }
    }
    #expect(byteCount < 4 * row.count)
    let absent = index.entry(of: CellNumber(NameNumber(rawValue: last + 1), .register))
    #expect(
      try index.withRow(of: absent, in: row.span.bytes) { try RecordRow.cells(of: $0) } == [.existence])
    let unordered = row + row[6..<11]
    #expect(throws: FormatError.self) { _ = try CellIndex(unordered.span.bytes) }
  }

  @Test("are read by field and whole, verified and rebuilt; damage of their parts is reported")
  func readAndVerified() async throws {
    let store = try directory.store()
    try await store.makeZone()
    let wide = note("wide")
    let count = 1500
    try await store.write { tx in
      try tx.create(wide, type: "note")
      for number in 0..<count { try tx.set(field(number), of: wide, to: .int(Int64(number))) }
      try tx.add(5, to: field(3), of: wide)
      try tx.insert(.int(1), into: "tags", of: wide)
      try tx.insertText("text", at: 0, in: "body", of: wide)
    }
    try await store.write { tx in
      try tx.set(field(700), of: wide, to: .string("changed"))
      try tx.add(2, to: field(3), of: wide)
    }
    #expect(try store.rows(\.elements).filter { $0.key.count == 17 && $0.key[12] == 9 }.count > 10)
    func check() throws {
      let read = try store.read { tx in
        (
          values: try [0, 700, count - 1, count].map { try tx.value(of: field($0), in: wide) },
          counter: try tx.counter(field(3), of: wide)?.value,
          tags: try tx.elements(of: "tags", in: wide), heads: try tx.heads(of: field(9), in: wide).count,
          fields: try tx.record(wide)?.fields.count
        )
      }
      #expect(read.values == [.int(0), .string("changed"), .int(Int64(count - 1)), nil])
      #expect(read.counter == .int(7))
      #expect(read.tags == [.int(1)])
      #expect(read.heads == 1)
      #expect(read.fields == count + 2)
    }
    try check()
    let digest = try store.digest()
    #expect(try store.verify().problems.isEmpty)
    _ = try await store.rebuild()
    try check()
    #expect(try store.digest() == digest)
    #expect(try store.verify().problems.isEmpty)
    let block = try #require(try store.rows(\.elements).last { $0.key.count == 17 && $0.key[12] == 9 })
    var damaged = block.value
    damaged[damaged.count - 1] ^= 1
    try store.overwrite(block.key, damaged, in: \.elements)
    #expect(try !store.verify().problems.isEmpty)
    try store.overwrite(block.key, nil, in: \.elements)
    #expect(try !store.verify().problems.isEmpty)
  }
}
