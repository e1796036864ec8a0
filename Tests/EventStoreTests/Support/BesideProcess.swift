import ChildProcesses
import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A process that writes to a store and observes it: `CrashWriter beside`. Or one of another version of the engine,
/// which only writes.
final class BesideProcess {
  let prefix: String
  /// Whether it obeys, and observes.
  let isObserver: Bool
  /// Whether it has begun to write.
  private(set) var isReady = false
  private let child: ChildProcess
  private var hasEnded = false
  /// Answers that nobody has waited for yet.
  private var answers: [String] = []

  // What it has printed.
  private(set) var acknowledged: [String] = []
  private(set) var commitCount = 0
  private(set) var pictureCount = 0
  /// How long after their writes the transactions of others were observed, in microseconds.
  private(set) var waits: [Int] = []
  private(set) var wrong: [String] = []

  /// The program of another version, to run beside this one: `OTHER_CRASH_WRITER`.
  static let otherProgram = getenv("OTHER_CRASH_WRITER").map { String(cString: $0) }

  /// A silent process counts as hanging after so many seconds.
  private static let waitSeconds = 120

  /// Starts one of this version.
  init(_ store: String, _ durability: String, prefix: String, tasks: Int, seed: UInt64) {
    self.prefix = prefix
    isObserver = true
    child = ChildProcess(
      program: "CrashWriter", takesInput: true,
      ["beside", store, durability, prefix, "\(tasks)", "\(seed)"])
  }

  /// Starts one of another version, which makes a number of writes.
  init(_ store: String, _ durability: String, prefix: String, tasks: Int, count: Int, program: String) {
    self.prefix = prefix
    isObserver = false
    let arguments = ["write", store, durability, prefix, "\(tasks)", "\(count)"]
    do {
      child = try ChildProcess(path: program, arguments, environment: ["SWIFT_BACKTRACE=enable=no"])
    } catch {
      preconditionFailure("\(program) cannot be started: error \(error.number)")
    }
  }

  // MARK: Output

  /// Takes what some processes print until a time is over.
  static func listen(to processes: [BesideProcess], microseconds: Int) {
    let end = ContinuousClock.now + .microseconds(microseconds)
    while true {
      let left = end - .now
      guard left > .zero else { return }
      let milliseconds = Int32(min(left / .milliseconds(1), 1000)) + 1
      listenOnce(to: processes, milliseconds)
    }
  }

  private static func listenOnce(to processes: [BesideProcess], _ milliseconds: Int32) {
    let living = processes.filter { !$0.hasEnded }
    if living.isEmpty {
      usleep(UInt32(milliseconds) * 1000)
      return
    }
    for index in ChildProcess.ready(living.map(\.child), waitingMilliseconds: milliseconds) {
      living[index].hasEnded = !living[index].child.receive()
      living[index].takeLines()
    }
  }

  private func takeLines() {
    while let line = child.takeLine() { take(line) }
  }

  private func take(_ line: String) {
    let words = line.split(separator: " ")
    switch words.first {
    case "wrote": acknowledged.append("\(prefix)-\(words[1])")
    case "commit":
      commitCount += 1
      waits += words.dropFirst(2).compactMap { Int($0) }
    case "seen": pictureCount += 1
    case "ready": isReady = true
    case "paused", "settled", "done": answers.append(line)
    // What another version prints of each write.
    case .some where Int(line) != nil: acknowledged.append("\(prefix)-\(line)")
    default: wrong.append(line)
    }
    if words.first == "wrote" { answers.append("wrote") }
    if answers.count > 1000 { answers.removeFirst(500) }
  }

  // MARK: Commands

  func send(_ command: String) { child.send(command) }

  /// Waits for an answer, and meanwhile takes what others print too. Nil if the process has ended, or does not
  /// answer.
  func answer(_ word: String, _ others: [BesideProcess]) -> String? {
    let end = ContinuousClock.now + .seconds(Self.waitSeconds)
    while true {
      if word == "ready", isReady { return word }
      if let index = answers.firstIndex(where: { $0.hasPrefix(word) }) {
        defer { answers.removeFirst(index + 1) }
        return answers[index]
      }
      guard !hasEnded, ContinuousClock.now < end else { return nil }
      Self.listenOnce(to: [self] + others.filter { $0 !== self }, 1000)
    }
  }

  // MARK: End

  func kill() { child.send(SIGKILL) }

  /// Waits for the end, and takes what is left of the output.
  func wait() -> ChildProcess.End {
    while !hasEnded { Self.listenOnce(to: [self], 1000) }
    return child.wait()
  }
}
