/// Asks a git process for the sizes of blobs.
struct GitSizes {
  /// How many questions to send before reading the answers. So many fit into the pipes in both directions;
  /// otherwise both processes could wait for each other without end.
  private static let questionsMax = 128

  private let process: ExternalProgram
  private var answers: DelimitedReader

  init(_ process: ExternalProgram) {
    self.process = process
    answers = DelimitedReader(process, delimiter: UInt8(ascii: "\n"), partBytesMax: 4096)
  }

  /// The sizes of blobs in bytes, in order; nil for a blob that the repository does not have.
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
