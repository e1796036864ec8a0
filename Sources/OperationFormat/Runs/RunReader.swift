/// Reads the parts of a run (twin: ``RunWriter``).
struct RunReader: ~Escapable {
  private let span: RawSpan
  private let origin: Int
  private let mask: Int
  private var cursors = [16 of Int](repeating: 0)
  private var ends = [16 of Int](repeating: 0)

  /// Reads a run in rows.
  @_lifetime(copy bytes)
  init(rows bytes: RawSpan, origin: Int) {
    span = bytes
    self.origin = origin
    mask = RunLayout.rows.mask
    ends[0] = bytes.byteCount
  }

  /// Reads a run in columns.
  @_lifetime(copy bytes)
  init(columns bytes: RawSpan, origin: Int) throws(FormatError) {
    span = bytes
    self.origin = origin
    mask = RunLayout.columns.mask
    var reader = ByteReader(bytes, origin: origin)
    for index in 0..<(RunColumn.count - 1) { ends[index] = try reader.readCount("run.column") }
    var start = reader.position
    for index in 0..<(RunColumn.count - 1) {
      guard ends[index] <= bytes.byteCount - start else {
        throw reader.fail(
          .truncated, at: start, "run.column", expected: "\(ends[index]) bytes",
          found: "\(bytes.byteCount - start)")
      }
      cursors[index] = start
      start += ends[index]
      ends[index] = start
    }
    cursors[RunColumn.count - 1] = start
    ends[RunColumn.count - 1] = bytes.byteCount
  }

  /// Whether there is no other transaction.
  var isAtEnd: Bool { cursors[0] == ends[0] }

  /// The offset of the next transaction's head.
  var position: Int { cursors[0] }

  /// Throws `.trailingBytes` unless everything was read.
  func finish() throws(FormatError) {
    for index in 0..<16 where cursors[index] != ends[index] {
      throw fail(
        .trailingBytes, at: cursors[index], "run", expected: "the end",
        found: "\(ends[index] - cursors[index]) bytes more")
    }
  }

  @inline(__always)
  mutating func readUInt8(_ column: RunColumn, _ subject: StaticString) throws(FormatError) -> UInt8 {
    let index = column.rawValue & mask
    let cursor = cursors[index]
    guard cursor < ends[index] else { throw truncated(index, 1, subject) }
    cursors[index] = cursor &+ 1
    return span.unsafeLoad(fromByteOffset: cursor, as: UInt8.self)
  }

  @inline(__always)
  mutating func readVarint(_ column: RunColumn, _ subject: StaticString) throws(FormatError) -> UInt64 {
    let index = column.rawValue & mask
    let cursor = cursors[index]
    if cursor < ends[index] {
      let byte = span.unsafeLoad(fromByteOffset: cursor, as: UInt8.self)
      if byte < 0x80 {
        cursors[index] = cursor &+ 1
        return UInt64(byte)
      }
    }
    return try readLongVarint(index, subject)
  }

  @inline(never)
  private mutating func readLongVarint(_ index: Int, _ subject: StaticString) throws(FormatError) -> UInt64 {
    var reader = reader(index)
    let number = try reader.readVarint(subject)
    cursors[index] = reader.position
    return number
  }

  mutating func readZigzag(_ column: RunColumn, _ subject: StaticString) throws(FormatError) -> Int64 {
    unzigzag(try readVarint(column, subject))
  }

  /// Reads a number without its last byte from one column, and that byte from the next.
  mutating func readSplit(_ column: RunColumn, _ subject: StaticString) throws(FormatError) -> UInt64 {
    let start = position(column)
    let upper = try readVarint(column, subject)
    guard upper >> 56 == 0 else {
      throw fail(.invalid, at: start, subject, expected: "a number of 64 bits", found: "a greater one")
    }
    let low = RunColumn(rawValue: column.rawValue + 1)!
    return upper << 8 | UInt64(try readUInt8(low, subject))
  }

  /// Reads a number that is less than `end`.
  mutating func readIndex(
    _ column: RunColumn, below end: Int, _ subject: StaticString
  ) throws(FormatError) -> Int {
    let start = position(column)
    let number = try readVarint(column, subject)
    guard number < UInt64(end) else {
      throw fail(.invalid, at: start, subject, expected: "less than \(end)", found: "\(number)")
    }
    return Int(number)
  }

  /// Appends the next bytes of a column.
  mutating func copyBytes(
    _ count: UInt64, _ column: RunColumn, _ subject: StaticString, to writer: inout ByteWriter
  ) throws(FormatError) {
    writer.append(try readBytes(count, column, subject))
  }

  /// Appends a byte count, and that many of the next letters. Returns the number of scalars.
  mutating func copyLetters(to writer: inout ByteWriter) throws(FormatError) -> UInt64 {
    let count = try readVarint(.lengths, "run.letters")
    let letters = try readBytes(count, .letters, "run.letters")
    writer.append(varint: count)
    writer.append(letters)
    return scalarCount(letters)
  }

  @_lifetime(copy self)
  mutating func readBytes(
    _ count: UInt64, _ column: RunColumn, _ subject: StaticString
  ) throws(FormatError) -> RawSpan {
    let index = column.rawValue & mask
    let start = cursors[index]
    guard count <= UInt64(ends[index] &- start) else {
      throw truncated(index, Int(clamping: count), subject)
    }
    cursors[index] = start &+ Int(count)
    return span.extracting(start..<cursors[index])
  }

  /// Appends a value that stands as it is in a transaction.
  mutating func copyPlainValue(to writer: inout ByteWriter) throws(FormatError) {
    let index = RunColumn.plain.rawValue & mask
    let start = cursors[index]
    var reader = reader(index)
    try validateValue(&reader)
    cursors[index] = reader.position
    writer.append(span.extracting(start..<reader.position))
  }

  /// Reads a text, and appends it.
  ///
  /// - Parameter texts: the texts before it. It may begin like the last of them.
  mutating func copyText(after texts: borrowing RunDictionary, to writer: inout ByteWriter)
    throws(FormatError)
  {
    let start = position(.lengths)
    let code = try readVarint(.lengths, "run.text")
    switch RunTextForm(rawValue: code & 3)! {
    case .plain: writer.append(try readBytes(code >> 2, .texts, "run.text"))
    case .hexadecimal:
      let bytes = try readBytes(code >> 2, .random, "run.text")
      append(digits: bytes, isUpperCase: false, to: &writer)
    case .uuid:
      guard code >> 2 <= 1 else {
        throw fail(.invalid, at: start, "run.text", expected: "upper or lower case", found: "\(code >> 2)")
      }
      for (index, group) in Hexadecimal.groupsOfUUID.enumerated() {
        if index > 0 { writer.append(UInt8(ascii: "-")) }
        let bytes = try readBytes(UInt64(group.count / 2), .random, "run.text")
        append(digits: bytes, isUpperCase: code >> 2 == 1, to: &writer)
      }
    case .continued:
      let shared = try readIndex(.lengths, below: texts.last.byteCount + 1, "run.text")
      writer.append(texts.last.extracting(..<shared))
      writer.append(try readBytes(code >> 2, .texts, "run.text"))
    }
  }

  /// Reads the number of a text, or another text, and appends it after its byte count.
  ///
  /// - Parameters:
  ///   - texts: the texts of this sort that the run has said. Another one is added.
  ///   - scratch: a writer whose content does not matter.
  mutating func copyNumbered(
    _ column: RunColumn, _ subject: StaticString, in texts: inout RunDictionary, _ scratch: inout ByteWriter,
    to writer: inout ByteWriter
  ) throws(FormatError) {
    let number = try readIndex(column, below: texts.count + 1, subject)
    guard number == 0 else { return texts.appendText(number - 1, to: &writer) }
    scratch.removeAll()
    try copyText(after: texts, to: &scratch)
    texts.add(scratch)
    writer.append(counted: scratch)
  }

  private func append(digits bytes: RawSpan, isUpperCase: Bool, to writer: inout ByteWriter) {
    for offset in 0..<bytes.byteCount {
      Hexadecimal.append(
        bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self), isUpperCase: isUpperCase, to: &writer)
    }
  }

  // MARK: Errors

  /// The offset of the next byte of a column.
  func position(_ column: RunColumn) -> Int { cursors[column.rawValue & mask] }

  @_lifetime(copy self)
  private func reader(_ index: Int) -> ByteReader {
    var reader = ByteReader(span, at: cursors[index], origin: origin)
    _ = reader.narrow(toNext: ends[index] - cursors[index])
    return reader
  }

  func fail(
    _ code: FormatError.Code, at position: Int, _ subject: StaticString, expected: String, found: String
  ) -> FormatError {
    FormatError(code, at: origin + position, in: "\(subject)", expected: expected, found: found)
  }

  @inline(never)
  private func truncated(_ index: Int, _ count: Int, _ subject: StaticString) -> FormatError {
    fail(
      .truncated, at: cursors[index], subject, expected: "\(count) bytes",
      found: "\(ends[index] - cursors[index])")
  }
}
