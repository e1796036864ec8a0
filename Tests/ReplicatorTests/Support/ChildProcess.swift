import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The `RemoteWriter` program in a process of its own, and the lines that it says.
final class ChildProcess {
  /// How it ended.
  enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  let id: pid_t
  private let output: Int32
  private var rest: [UInt8] = []
  private var isEnded = false

  convenience init(_ arguments: String...) { self.init(arguments) }

  init(_ arguments: [String]) {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0, "pipe refused with error \(errno)")
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
    #else
      var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let path = Self.program
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    // A backtrace would cost a second at each planned crash.
    let settings = ["SWIFT_BACKTRACE=enable=no", "TMPDIR=/tmp"]
    var environment: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0) } + [nil]
    defer { for text in argv + environment { free(text) } }
    var id: pid_t = 0
    let refusal = posix_spawn(&id, path, &actions, nil, &argv, &environment)
    precondition(refusal == 0, "\(path) cannot be started: error \(refusal)")
    close(ends[1])
    self.id = id
    output = ends[0]
  }

  deinit {
    if !isEnded {
      kill(id, SIGKILL)
      _ = wait()
    }
    close(output)
  }

  /// Beside the tests' own program, or some directories above it.
  private static let program: String = {
    var directory = CommandLine.arguments[0]
    for argument in CommandLine.arguments where argument.hasSuffix(".xctest") { directory = argument }
    while let slash = directory.lastIndex(of: "/") {
      directory = String(directory[..<slash])
      if access(directory + "/RemoteWriter", X_OK) == 0 { return directory + "/RemoteWriter" }
    }
    preconditionFailure("the program RemoteWriter is not beside \(CommandLine.arguments)")
  }()

  /// The next line, nil at the end of the output, or if none came within the time.
  func line(waitingSeconds: Int32 = 60) -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest.removeSubrange(...end)
        return line
      }
      var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, waitingSeconds * 1000) > 0 else { return nil }
      var buffer = [UInt8](repeating: 0, count: 65536)
      let count = read(output, &buffer, buffer.count)
      guard count > 0 else { return nil }
      rest += buffer[..<count]
    }
  }

  /// All lines that are left.
  func lines(waitingSeconds: Int32 = 60) -> [String] {
    var lines: [String] = []
    while let line = line(waitingSeconds: waitingSeconds) { lines.append(line) }
    return lines
  }

  func send(_ signal: Int32) { kill(id, signal) }

  /// Waits for its end.
  func wait() -> End {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    isEnded = true
    let signal = status & 0x7f
    return signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
  }
}

extension ChildProcess {
  /// What a process said, and how it ended.
  struct Story {
    var lines: [String]
    var end: End
  }

  /// Starts a process and waits for its end, on a thread that no task needs.
  static func run(_ arguments: String...) async -> Story {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        let child = ChildProcess(arguments)
        let lines = child.lines(waitingSeconds: 120)
        continuation.resume(returning: Story(lines: lines, end: child.wait()))
      }
    }
  }
}
