/// Asks git for the sizes of blobs.
struct GitSizes {
  /// Questions that are asked before the answers are read: both fit into the pipes, so that neither side
  /// waits for the other for ever.
  private static let questionsMax = 128

  private let process: ExternalProgram
  private var answers: DelimitedReader

  init(_ process: ExternalProgram) {
    self.process = process
    answers = DelimitedReader(process, delimiter: UInt8(ascii: "\n"), partBytesMax: 4096)
  }

  /// The sizes of blobs in bytes, in their order; nil for one that the repository does not have.
  mutating func sizes(of blobs: [String]) throws -> [Int64?] {
    var sizes: [Int64?] = []
    sizes.reserveCapacity(blobs.count)
    while sizes.count < blobs.count {
      let asked = blobs[sizes.count..<min(sizes.count + Self.questionsMax, blobs.count)]
      try process.write(asked.joined(separator: "\n") + "\n")
      for blob in asked {
        guard let line = try answers.next() else {
          try process.finish()
          throw ProcessFailure(message: "it ended early")
        }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count == 2, words[0] == blob else {
          throw ProcessFailure(message: "it answered “\(words.joined(separator: " "))” for \(blob)")
        }
        sizes.append(Int64(words[1]))
      }
    }
    return sizes
  }
}
