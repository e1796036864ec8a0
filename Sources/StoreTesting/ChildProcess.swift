#if canImport(Glibc)
  package import Glibc
#elseif canImport(Darwin)
  package import Darwin
#endif

/// A program of a test in a process of its own, and the lines that it says.
package final class ChildProcess {
  /// How it ended.
  package enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  /// Why a program could not be started: the number of the system's error.
  package struct Refusal: Error {
    package let number: Int32
  }

  package let id: pid_t
  private let output: Int32
  private var input: Int32?
  private var rest: [UInt8] = []
  private var isEnded = false

  /// Starts a program that is built beside the tests.
  package convenience init(program: String, _ arguments: [String]) {
    let path = Self.path(of: program)
    do {
      // A backtrace would cost a second at each planned crash.
      try self.init(path: path, arguments, environment: ["SWIFT_BACKTRACE=enable=no", "TMPDIR=/tmp"])
    } catch {
      preconditionFailure("\(path) cannot be started: error \(error.number)")
    }
  }

  /// Starts a program. No descriptor of this process stays open in it.
  ///
  /// - Parameters:
  ///   - path: the program's file.
  ///   - arguments: what it is called with, without its own name.
  ///   - environment: all of its environment, as `NAME=value`.
  ///   - errors: the file that its errors are written to.
  ///   - takesInput: whether ``send(_:)`` gives it lines to read; else its input is this process's.
  ///   - isApart: whether it has a process group of its own, so that an interrupt from the keyboard passes it by.
  package init(
    path: String, _ arguments: [String], environment: [String], errors: String = "/dev/null",
    takesInput: Bool = false, isApart: Bool = false
  ) throws(Refusal) {
    let (outputEnd, outputStart) = Self.makePipe()
    let (inputEnd, inputStart) = takesInput ? Self.makePipe() : (-1, -1)
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #else
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    if takesInput { posix_spawn_file_actions_adddup2(&actions, inputEnd, 0) }
    posix_spawn_file_actions_adddup2(&actions, outputStart, 1)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    // LMDB's data files are inherited, and other tests wait for theirs to be closed. So are the pipes of others, and
    // who reads such a pipe to its end would wait for this process.
    #if canImport(Glibc)
      let closes: Int16 = 0
      Self.closeAll(from: 3, in: &actions)
    #else
      let closes = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
    #endif
    posix_spawnattr_setflags(&attributes, closes | (isApart ? Int16(POSIX_SPAWN_SETPGROUP) : 0))
    posix_spawnattr_setpgroup(&attributes, 0)
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in argv + environment { free(text) } }
    var id: pid_t = 0
    let refusal = posix_spawn(&id, path, &actions, &attributes, &argv, &environment)
    close(outputStart)
    if takesInput {
      close(inputEnd)
      // Who has ended reads nothing: that is an answer, and no reason to end as well.
      signal(SIGPIPE, SIG_IGN)
    }
    self.id = id
    output = outputEnd
    input = takesInput ? inputStart : nil
    guard refusal == 0 else {
      isEnded = true
      throw Refusal(number: refusal)
    }
  }

  deinit {
    if !isEnded {
      kill(id, SIGKILL)
      _ = wait()
    }
    endInput()
    close(output)
  }

  #if canImport(Glibc)
    /// Has a process close every descriptor from one on. Not every glibc has the call for it, and none shows it to Swift.
    private static func closeAll(from first: Int32, in actions: inout posix_spawn_file_actions_t) {
      typealias AddCloseFrom =
        @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
      if let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
        let addCloseFrom = unsafeBitCast(symbol, to: AddCloseFrom.self)
        precondition(addCloseFrom(&actions, first) == 0, "no memory")
        return
      }
      for descriptor in first..<getdtablesize() { posix_spawn_file_actions_addclose(&actions, descriptor) }
    }
  #endif

  /// A pipe that no child inherits by itself: its end to read from, and its end to write to.
  private static func makePipe() -> (end: Int32, start: Int32) {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0, "pipe refused with error \(errno)")
    for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Beside the tests' own program, or some directories above it.
  private static func path(of program: String) -> String {
    var directory = CommandLine.arguments[0]
    for argument in CommandLine.arguments where argument.hasSuffix(".xctest") { directory = argument }
    while let slash = directory.lastIndex(of: "/") {
      directory = String(directory[..<slash])
      if access("\(directory)/\(program)", X_OK) == 0 { return "\(directory)/\(program)" }
    }
    preconditionFailure("the program \(program) is not beside \(CommandLine.arguments)")
  }

  /// The next line, nil at the end of the output, or if none came within the time.
  package func line(waitingSeconds: Int32 = 60) -> String? {
    while true {
      if let line = takeLine() { return line }
      guard Self.ready([self], waitingMilliseconds: waitingSeconds * 1000) == [0], receive() else {
        return nil
      }
    }
  }

  /// The next line of what was received.
  package func takeLine() -> String? {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { rest.removeSubrange(...end) }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// Receives what it said, at least a byte, for which it waits. False at the end of the output.
  package func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(output, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest += buffer[..<count]
      return true
    }
  }

  /// Waits until some of the processes said something or ended.
  ///
  /// - Returns: their indices; none after the time, or after a signal came.
  package static func ready(_ processes: [ChildProcess], waitingMilliseconds: Int32) -> [Int] {
    var waiting = processes.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
    guard poll(&waiting, nfds_t(waiting.count), waitingMilliseconds) > 0 else { return [] }
    return waiting.indices.filter { waiting[$0].revents != 0 }
  }

  /// All lines that are left.
  package func lines(waitingSeconds: Int32 = 60) -> [String] {
    var lines: [String] = []
    while let line = line(waitingSeconds: waitingSeconds) { lines.append(line) }
    return lines
  }

  package func send(_ signal: Int32) { kill(id, signal) }

  /// Gives it a line to read: a short one, which the pipe takes at once. One that has ended does not get it.
  package func send(_ line: String) {
    guard let input else { return }
    let bytes = Array("\(line)\n".utf8)
    var start = 0
    while start < bytes.count {
      let count = bytes.withUnsafeBytes { write(input, $0.baseAddress! + start, $0.count - start) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      start += count
    }
  }

  /// Says that no more lines come.
  package func endInput() {
    if let input { close(input) }
    input = nil
  }

  /// Waits for its end.
  package func wait() -> End {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    isEnded = true
    let signal = status & 0x7f
    return signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
  }
}
