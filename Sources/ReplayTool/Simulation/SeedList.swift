/// The seeds to run, in order. It stores ranges, because there may be more seeds than fit into memory.
struct SeedList {
  /// The most seeds of one run. At a hundred a second they take three centuries, so a greater number is a
  /// typing error.
  static let countMax: UInt64 = 1_000_000_000_000
  /// The longest file of seeds, in bytes.
  static let fileBytesMax = 16 << 20

  private(set) var ranges: [ClosedRange<UInt64>]

  init(_ ranges: [ClosedRange<UInt64>]) { self.ranges = ranges }

  var count: UInt64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) } }

  /// Parses `A..B`, which includes both ends, or one number.
  init(_ text: String) throws(ToolError) {
    let dots = text.firstRange(of: "..")
    guard let first = UInt64(dots.map { text[..<$0.lowerBound] } ?? text[...]),
      let last = UInt64(dots.map { text[$0.upperBound...] } ?? text[...]), first <= last
    else {
      throw .input(
        "seedsInvalid", "“\(Display.plain(text, limit: 60))” is not a range of seeds",
        hint: "write it as 1..1000, the lower number first, or as one number")
    }
    guard last - first < Self.countMax else {
      throw .input(
        "seedsInvalid", "“\(text)” has more than \(Display.count(Self.countMax)) seeds",
        hint: "run a part of them")
    }
    ranges = [first...last]
  }

  /// Reads a file of seeds: one on each line. Text after a `#` is a comment.
  init(file: any ByteSource) throws {
    var bytes: [UInt8] = []
    while bytes.count <= Self.fileBytesMax {
      let next = try file.read(upTo: 1 << 16)
      guard !next.isEmpty else { break }
      bytes += next
    }
    guard bytes.count <= Self.fileBytesMax else {
      throw ToolError.input(
        "seedsInvalid", "\(file.name) is longer than \(Self.fileBytesMax >> 20) MiB",
        hint: "give a file of seeds")
    }
    ranges = []
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
      let words = text.split(whereSeparator: \.isWhitespace)
      guard !words.isEmpty else { continue }
      guard words.count == 1, let seed = UInt64(words[0]) else {
        throw ToolError.input(
          "seedsInvalid",
          "line \(index + 1) of \(file.name) has no seed: “\(Display.plain(text, limit: 60))”",
          hint: "write one number on each line, and comments after a #")
      }
      ranges.append(seed...seed)
    }
  }

  /// Removes and returns the first seed.
  mutating func takeFirst() -> UInt64? {
    guard let range = ranges.first else { return nil }
    if range.lowerBound < range.upperBound {
      ranges[0] = range.lowerBound + 1...range.upperBound
    } else {
      ranges.removeFirst()
    }
    return range.lowerBound
  }
}
