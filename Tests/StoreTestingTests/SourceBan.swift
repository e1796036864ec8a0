/// Things that simulated code must not use, because they differ each time.
enum SourceBan: String, CaseIterable {
  case date = "Date()"
  case uuid = "UUID()"
  case systemGenerator = "SystemRandomNumberGenerator"
  case continuousClock = "ContinuousClock"
  case suspendingClock = "SuspendingClock"
  case sleep = "Task.sleep"
  case detached = "Task.detached"
  case queue = "DispatchQueue"
  case thread = "Thread"
  case createThread = "pthread_create"
  case files = "FileManager"
  case clockTime = "clock_gettime"
  case dayTime = "gettimeofday"
  case time = "time("
  case random = ".random("
  case shuffled = ".shuffled("
  case shuffle = ".shuffle("
  case randomElement = ".randomElement("
  case arc4random = "arc4random"
  case arc4randomUniform = "arc4random_uniform"
  case arc4randomBuffer = "arc4random_buf"
  case getRandom = "getrandom"
  case hashValue = ".hashValue"

  /// One use of a banned thing.
  struct Violation: Equatable, CustomStringConvertible {
    var file: String
    var line: Int
    var ban: SourceBan
    var description: String { "\(file):\(line): \(ban.rawValue)" }
  }

  private static let byFirstByte = Dictionary(grouping: allCases) { $0.rawValue.utf8.first! }

  /// The uses in a source, in order.
  static func violations(in source: String, file: String) -> [Violation] {
    let code = SourceCode(source).bytes
    var found: [Violation] = []
    var line = 1
    for offset in code.indices {
      if code[offset] == UInt8(ascii: "\n") { line += 1 }
      guard isStart(offset, in: code) else { continue }
      for ban in byFirstByte[code[offset], default: []] where ban.isUsed(at: offset, in: code) {
        found.append(Violation(file: file, line: line, ban: ban))
      }
    }
    return found
  }

  /// Whether a word, or the dot of a member, may start there.
  private static func isStart(_ offset: Int, in code: [UInt8]) -> Bool {
    if code[offset] == UInt8(ascii: ".") { return true }
    return isWordByte(code[offset]) && (offset == 0 || !isWordByte(code[offset - 1]))
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  private func isUsed(at offset: Int, in code: [UInt8]) -> Bool {
    let word = Array(rawValue.utf8)
    guard code[offset...].starts(with: word) else { return false }
    let end = offset + word.count
    if let last = word.last, Self.isWordByte(last), end < code.count, Self.isWordByte(code[end]) {
      return false
    }
    switch self {
    case .random, .shuffled, .shuffle, .randomElement: return Self.namesNoGenerator(end, in: code)
    case .time: return Self.isFunctionOfC(offset, in: code)
    default: return true
    }
  }

  /// Whether the arguments of a call, which start there, draw from the system's generator: no arguments, or
  /// `in:` without `using:`. Other arguments belong to a function of ours.
  private static func namesNoGenerator(_ start: Int, in code: [UInt8]) -> Bool {
    let arguments = code[start...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    guard arguments.first == UInt8(ascii: ")") || arguments.starts(with: "in:".utf8) else { return false }
    var depth = 1
    for offset in arguments.indices {
      switch code[offset] {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"): depth -= 1
      default: if depth == 1, code[offset...].starts(with: "using:".utf8) { return false }
      }
      if depth == 0 { break }
    }
    return true
  }

  /// Whether a call is not a member of ours, and not a declaration.
  private static func isFunctionOfC(_ offset: Int, in code: [UInt8]) -> Bool {
    let before = String(decoding: code[max(0, offset - 16)..<offset], as: UTF8.self)
    if before.hasSuffix("Glibc.") || before.hasSuffix("Darwin.") { return true }
    return !before.hasSuffix(".") && !before.hasSuffix("func ")
  }
}
