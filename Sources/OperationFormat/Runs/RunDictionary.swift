/// The texts that a run has said, by number: the order in which they were said.
struct RunDictionary: ~Copyable {
  private var bytes = ByteWriter()
  private var ranges: [Range<Int>] = []
  private var table = NameTable()
  private let countMax: Int
  private let bytesMax: Int

  /// - Parameters:
  ///   - countMax: how many texts it keeps: the first ones.
  ///   - bytesMax: the longest text that it keeps.
  init(countMax: Int, bytesMax: Int) {
    self.countMax = countMax
    self.bytesMax = bytesMax
  }

  var count: Int { ranges.count }

  /// Appends the byte count of a text, and the text.
  func appendText(_ number: Int, to writer: inout ByteWriter) {
    writer.append(count: ranges[number].count)
    writer.append(bytes.span.extracting(ranges[number]))
  }

  /// The text that was added last; empty before the first.
  var last: RawSpan {
    @_lifetime(borrow self)
    get { bytes.span.extracting(ranges.last ?? 0..<0) }
  }

  func canAdd(_ byteCount: Int) -> Bool { ranges.count < countMax && byteCount <= bytesMax }

  /// Adds a text, unless it is too long or there are too many.
  mutating func add(_ text: RawSpan) {
    guard canAdd(text.byteCount) else { return }
    let start = bytes.count
    bytes.append(text)
    ranges.append(start..<bytes.count)
  }

  mutating func add(_ text: borrowing ByteWriter) { add(text.span) }

  /// Adds a text that ``find(_:)`` shall find.
  mutating func addFindable(_ text: RawSpan) {
    guard canAdd(text.byteCount) else { return }
    var search = table.search(hash: table.hash(of: text))
    while table.next(&search) != nil {}
    table.insert(search)
    add(text)
  }

  /// The number of a text; nil if it has none.
  mutating func find(_ text: RawSpan) -> Int? {
    guard text.byteCount <= bytesMax else { return nil }
    var search = table.search(hash: table.hash(of: text))
    while let number = table.next(&search) {
      if equalBytes(bytes.span.extracting(ranges[number]), text) { return number }
    }
    return nil
  }
}
