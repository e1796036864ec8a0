import Testing

@testable import OperationFormat

@Suite("Keystrokes")
struct RunsOfKeystrokes {
  @Test("are given back", arguments: RunCodecTests.layouts)
  func givenBack(_ layout: RunLayout) throws {
    var typist = Typist(seed: 6)
    try typist.type(3000)
    let example = typist.example
    let bytes = example.encoded(layout)
    let found = try RunExample.decoded(bytes, layout, example.context, bytesMax: example.byteCount)
    #expect(found.transactions == example.transactions)
  }

  @Test("take at most 9 bytes each in rows of 1,500 bytes, with letter, author, and 30 bytes for each row")
  func small() throws {
    var typist = Typist(seed: 7)
    try typist.type(3000)
    let example = typist.example
    var (start, byteCount) = (0, 0)
    while start < example.transactions.count {
      var end = start + 1
      while end < example.transactions.count, example.encoded(.rows, start..<(end + 1)).count <= 1500 {
        end += 20
      }
      end = min(end, example.transactions.count)
      byteCount += example.encoded(.rows, start..<end).count + 30
      start = end
    }
    #expect(
      byteCount <= 9 * example.transactions.count, "\(byteCount) bytes for \(example.transactions.count)")
  }
}
