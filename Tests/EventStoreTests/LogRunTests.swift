import OperationFormat
import Testing

@testable import EventStore

@Suite("Rows of the log that hold several entries")
struct LogRunTests {
  private typealias Entry = (header: LogEntryHeader, body: [UInt8])

  /// Entries of one lane, as of someone who types; some have another base, a late arrival, or a long text.
  private static func entries(_ count: Int, from first: UInt64 = 1, seed: UInt64 = 1, longPercent: Int = 3)
    throws -> [Entry]
  {
    var random = SeededGenerator(seed: seed)
    return try (0..<UInt64(count)).map { index in
      let sequence = first + index
      let text = random.chance(longPercent) ? String(repeating: "long", count: random.below(300) + 1) : "a"
      let transaction = LogTransaction(
        replica: ReplicaID(rawValue: 1), epoch: 0, sequence: sequence, zone: ZoneID(name: "z"),
        timestamp: Timestamp(milliseconds: 1_764_000_000_000 + 150 * index, counter: 0), author: "ann",
        operations: [
          .update(
            record: "n1", type: "Note", field: "body",
            .insertText(text, after: index == 0 ? nil : UnitReference(number: index - 1)))
        ])
      let bytes = try transaction.encoded()
      let span = bytes.span
      var reader = ByteReader(span.bytes)
      _ = try TransactionHeader.read(from: &reader)
      let header = LogEntryHeader(
        zone: ZoneNumber(rawValue: 3), replica: ReplicaNumber(rawValue: 5), epoch: 2, sequence: sequence,
        base: index < 2
          ? nil : (IncarnationNumber(rawValue: random.chance(2) ? 8 : 7), 1 + index / 10),
        parent: sequence == 1 ? (ReplicaNumber(rawValue: 4), 9, 77) : nil,
        arrivalDelay: random.chance(10) ? Int64(random.below(5000)) - 2500 : 0)
      return (header, Array(bytes[reader.position...]))
    }
  }

  private static func run(_ entries: some Collection<Entry>) -> LogRun {
    var run = LogRun(startingWith: entries.first!.header)
    for entry in entries {
      let body = entry.body.span
      run.append(entry.header, body: body.bytes)
    }
    return run
  }

  private static func row(_ run: borrowing LogRun, at position: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    run.write(at: Position(rawValue: position), to: &writer)
    return writer.bytes
  }

  private static func read(_ row: [UInt8], at position: UInt64) throws -> [Entry] {
    let span = row.span
    let run = try DecodedRun(span.bytes, at: Position(rawValue: position))
    let positions = try LogRun.positions(of: span.bytes, at: Position(rawValue: position))
    #expect(positions.upperBound.rawValue == position + UInt64(run.count) - 1)
    return (0..<UInt64(run.count)).map { index in
      run.withEntry(at: Position(rawValue: position + index)) { ($0, $1.bytes) }
    }
  }

  private static func expectSame(_ found: [Entry], _ expected: some Collection<Entry>) {
    #expect(found.count == expected.count)
    for (a, b) in zip(found, expected) { #expect(a.header == b.header && a.body == b.body) }
  }

  /// As many entries as one row takes, and the row.
  private static func full() throws -> (entries: [Entry], row: [UInt8]) {
    let entries = try entries(1000, longPercent: 0)
    var run = LogRun(startingWith: entries[0].header)
    for entry in entries {
      let body = entry.body.span
      guard run.accepts(entry.header) else { break }
      run.append(entry.header, body: body.bytes)
    }
    return (Array(entries.prefix(run.count)), row(run, at: 40))
  }

  @Test("give back each entry")
  func giveBack() throws {
    let (entries, row) = try Self.full()
    #expect(entries.count > 1 && row.count < 680)
    Self.expectSame(try Self.read(row, at: 40), entries)
  }

  @Test("go on after they are read, with the same bytes as without")
  func goOn() throws {
    let entries = try Self.entries(20, from: 9)
    for count in 1..<entries.count {
      let row = Self.row(Self.run(entries[..<count]), at: 7)
      let span = row.span
      var run = try LogRun(span.bytes, at: Position(rawValue: 7))
      let next = entries[count].body
      let body = next.span
      run.append(entries[count].header, body: body.bytes)
      #expect(Self.row(run, at: 7) == Self.row(Self.run(entries[...count]), at: 7))
    }
  }

  @Test("are split before any entry")
  func split() throws {
    let (entries, row) = try Self.full()
    let span = row.span
    for index in 1..<entries.count {
      let (first, second) = try LogRun.split(span.bytes, at: Position(rawValue: 40), before: index)
      Self.expectSame(try Self.read(first, at: 40), entries[..<index])
      Self.expectSame(try Self.read(second, at: 40 + UInt64(index)), entries[index...])
    }
  }

  @Test("accept only the next entry of their lane, and no large one")
  func accept() throws {
    let entries = try Self.entries(3)
    let run = Self.run(entries[..<2])
    let large = [UInt8](repeating: 1, count: LogRun.bodyBytesMax + 1)
    let largeSpan = large.span
    var header = entries[2].header
    let accepted = run.accepts(header)
    let taken = LogRun.takes(header, body: largeSpan.bytes.extracting(1...))
    let takenLarge = LogRun.takes(header, body: largeSpan.bytes)
    #expect(accepted && taken && !takenLarge)
    for change: (inout LogEntryHeader) -> Void in [
      { $0.zone = ZoneNumber(rawValue: 4) }, { $0.replica = ReplicaNumber(rawValue: 6) }, { $0.epoch = 3 },
      { $0.sequence = 4 }, { $0.sequence = 2 },
    ] {
      header = entries[2].header
      change(&header)
      let accepted = run.accepts(header)
      #expect(!accepted)
    }
  }

  @Test("are refused with any bit wrong, cut, or at another position")
  func damage() throws {
    let row = Self.row(Self.run(try Self.entries(5)), at: 7)
    func error(_ bytes: [UInt8], at position: UInt64 = 7) -> FormatError? {
      do throws(FormatError) {
        let span = bytes.span
        _ = try LogRun(span.bytes, at: Position(rawValue: position))
        return nil
      } catch {
        return error
      }
    }
    #expect(error(row) == nil)
    #expect(error(row, at: 8)?.code == .damaged)
    for bit in 0..<(8 * row.count) {
      var damaged = row
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(error(damaged)?.code == .damaged, "bit \(bit)")
    }
    for count in 0..<row.count { #expect(error(Array(row[..<count])) != nil) }
  }
}
