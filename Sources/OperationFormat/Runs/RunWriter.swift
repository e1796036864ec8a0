/// Writes the parts of a run (twin: ``RunReader``).
struct RunWriter: ~Copyable {
  private var columns = InlineArray<16, ByteWriter> { _ in ByteWriter() }
  private let mask: Int

  init(_ layout: RunLayout) { mask = layout.mask }

  /// How many bytes are written.
  var byteCount: Int {
    var count = 0
    for index in 0..<RunColumn.count { count += columns[index].count }
    return count
  }

  /// The bytes of a run in rows.
  var rows: RawSpan {
    @_lifetime(borrow self)
    get { columns[0].span }
  }

  /// Appends a run in columns: the byte counts of all columns but the last, and the columns.
  ///
  /// - Returns: where columns end whose bytes are worth a code of their own.
  func appendColumns(to writer: inout ByteWriter) -> [Int] {
    writer.reserve(byteCount + 5 * RunColumn.count)
    for index in 0..<(RunColumn.count - 1) { writer.append(count: columns[index].count) }
    var ends = [writer.count]
    for index in 0..<RunColumn.count {
      writer.append(columns[index].span)
      ends.append(writer.count)
    }
    return ends
  }

  mutating func removeAll() { for index in 0..<RunColumn.count { columns[index].removeAll() } }

  @inline(__always)
  mutating func append(_ byte: UInt8, to column: RunColumn) { columns[column.rawValue & mask].append(byte) }

  @inline(__always)
  mutating func append(varint number: UInt64, to column: RunColumn) {
    columns[column.rawValue & mask].append(varint: number)
  }

  @inline(__always)
  mutating func append(count: Int, to column: RunColumn) { append(varint: UInt64(count), to: column) }

  @inline(__always)
  mutating func append(zigzag number: Int64, to column: RunColumn) {
    append(varint: zigzagBits(number), to: column)
  }

  @inline(__always)
  mutating func append(_ span: RawSpan, to column: RunColumn) { columns[column.rawValue & mask].append(span) }

  mutating func append(_ bytes: borrowing ByteWriter, to column: RunColumn) { append(bytes.span, to: column) }

  /// Appends a number without its last byte to one column, and that byte to the next.
  mutating func append(split number: UInt64, to column: RunColumn) {
    append(varint: number >> 8, to: column)
    append(UInt8(truncatingIfNeeded: number), to: RunColumn(rawValue: column.rawValue + 1)!)
  }

  /// Appends the number of a text, or 0 and the text, which then has a number.
  mutating func append(_ text: RawSpan, to column: RunColumn, numberedIn texts: inout RunDictionary) {
    if let number = texts.find(text) { return append(count: number + 1, to: column) }
    append(count: 0, to: column)
    append(text: text, after: texts)
    texts.addFindable(text)
  }

  /// Appends a text.
  ///
  /// - Parameter texts: the texts before it. It may begin like the last of them.
  mutating func append(text: RawSpan, after texts: borrowing RunDictionary) {
    if let isUpperCase = Hexadecimal.caseOfUUID(text) {
      append(form: .uuid, isUpperCase ? 1 : 0)
      for group in Hexadecimal.groupsOfUUID { append(digits: text.extracting(group)) }
    } else if Hexadecimal.isWorthIt(text) {
      append(form: .hexadecimal, text.byteCount / 2)
      append(digits: text)
    } else {
      let shared = sharedPrefix(text, texts.last)
      if shared >= 3 {
        append(form: .continued, text.byteCount - shared)
        append(count: shared, to: .lengths)
        append(text.extracting(shared...), to: .texts)
      } else {
        append(form: .plain, text.byteCount)
        append(text, to: .texts)
      }
    }
  }

  private mutating func append(form: RunTextForm, _ length: Int) {
    append(varint: UInt64(length) << 2 | form.rawValue, to: .lengths)
  }

  private mutating func append(digits: RawSpan) {
    for offset in stride(from: 0, to: digits.byteCount, by: 2) {
      append(Hexadecimal.byte(of: digits, at: offset), to: .random)
    }
  }
}

/// The form of a text.
enum RunTextForm: UInt64 {
  /// Its bytes.
  case plain
  /// Pairs of hexadecimal digits in lower case, each a byte.
  case hexadecimal
  /// A UUID in its text form; the length says the case of its digits: 0 lower, 1 upper.
  case uuid
  /// It begins as the text that was added last: the number of those bytes follows.
  case continued
}
