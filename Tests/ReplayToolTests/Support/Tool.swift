import EventStore
import StoreTesting
import Synchronization

@testable import ReplayTool

/// Runs commands in this process, and keeps their output.
struct Tool {
  /// The result of a command.
  struct Result {
    var output: String
    var errors: String
    var exit: Int32

    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
  }

  var isTerminal = false
  var usesColor = false
  var isInterrupted: @Sendable () -> Bool = { false }
  var makeRandom: @Sendable () -> UInt64 = { 7 }
  /// The target of the output, for tests that read it while a command runs.
  var sink: CapturedSink?
  /// How many bytes a sink takes before it closes.
  var outputBytesMax = Int.max
  /// By how much the clock of a remote's file system is ahead, in milliseconds.
  var folderAhead: Int64 = 0
  private static let now = ShoppingStore.start + 3_600_000

  init() {}

  /// A tool whose random bits come from a source that others may share.
  init(_ bits: SharedBits) { makeRandom = { bits.next() } }

  /// A tool with its own random bits.
  init(seed: UInt64) { self.init(SharedBits(seed)) }

  func run(_ arguments: String..., input: [UInt8] = []) async -> Result { await run(arguments, input: input) }

  func run(_ arguments: [String], input: [UInt8] = []) async -> Result {
    let (output, errors) = (sink ?? CapturedSink(bytesMax: outputBytesMax), CapturedSink())
    let console = Console(
      output: Output(output, isTerminal: isTerminal, usesColor: usesColor),
      errors: Output(errors, isTerminal: isTerminal, usesColor: usesColor), input: { MemorySource(input) },
      isInterrupted: isInterrupted, wallMilliseconds: { Self.now },
      folderMilliseconds: { [folderAhead] in UInt64(Self.now + folderAhead) },
      makeRandom: makeRandom)
    let exit = await Replay.run(arguments, console: console)
    return Result(output: output.text, errors: errors.text, exit: exit)
  }
}

/// Keeps what is written to it, until it is full. Then it is closed, like a pipe without a reader.
final class CapturedSink: OutputSink {
  private let bytesMax: Int
  private let bytes = Mutex<[UInt8]>([])

  init(bytesMax: Int = .max) { self.bytesMax = bytesMax }

  var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

  func write(_ written: [UInt8]) throws {
    try bytes.withLock { bytes in
      guard bytes.count + written.count <= bytesMax else { throw OutputClosed() }
      bytes += written
    }
  }
}

/// A clock that a test sets.
final class TestClock: Sendable {
  private let now: Mutex<Int64>

  init(_ milliseconds: Int64) { now = Mutex(milliseconds) }

  var milliseconds: Int64 {
    get { now.withLock { $0 } }
    set { now.withLock { $0 = newValue } }
  }
}

/// Random bits for closures.
final class SharedBits: Sendable {
  private let generator: Mutex<SeededGenerator>
  init(_ seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }
  func next() -> UInt64 { generator.withLock { $0.next() } }
}

/// A suite whose commands sync stores in a directory with a remote folder beside them.
protocol StoresOfAFolder {
  var temporary: TemporaryDirectory { get }
  var random: SharedBits { get }
}

extension StoresOfAFolder {
  var remote: String { "folder:\(temporary.path)/remote" }

  func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  func run(_ arguments: String...) async -> Tool.Result { await Tool(random).run(arguments) }

  func sync(_ name: String, _ arguments: String...) async -> Tool.Result {
    await Tool(random).run(["sync", path(name), "--remote", remote] + arguments)
  }
}
