/// What happened in a world: a line for each event, and a hash of the lines that two processes can compare.
struct SimulationTrace {
  private(set) var lines: [String] = []
  /// FNV-1a over the lines: equal in every process.
  private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  /// Whether the lines are kept.
  let isKept: Bool
  /// Gets each line at once.
  let sink: (@Sendable (String) -> Void)?

  init(isKept: Bool, sink: (@Sendable (String) -> Void)? = nil) {
    self.isKept = isKept
    self.sink = sink
  }

  mutating func add(_ line: String) {
    var line = line
    line.withUTF8 { bytes in
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    }
    hash = (hash ^ 10) &* 0x0000_0100_0000_01b3
    addDetail(line)
  }

  /// Whether anybody gets the lines.
  var isRead: Bool { isKept || sink != nil }

  /// Adds a line that is not in the hash, since it is made only if the trace is read.
  mutating func addDetail(_ line: String) {
    if isKept { lines.append(line) }
    sink?(line)
  }
}
