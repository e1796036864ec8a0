#if canImport(Glibc)
  package import Glibc
#elseif canImport(Darwin)
  package import Darwin
#endif

/// Runs another program as a child process: starts it, exchanges bytes with it, and waits for its end.
///
/// It does not use Foundation's `Process`, which learns of an end through one thread that all processes
/// share. If many processes start and end at the same time on several threads, it misses some.
package final class ChildProcess {
  /// How the process ended.
  package enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  /// Where the process writes its errors.
  package enum Errors {
    /// To a file, which is emptied first.
    case file(String)
    /// To its output.
    case output
    /// To this process, which keeps the first bytes: ``ChildProcess/errorText``.
    case kept
  }

  /// Why a program could not be started: the system's error number.
  package struct Refusal: Error {
    package let number: Int32
  }

  package let id: pid_t
  private let output: Int32
  private var input: Int32?
  private var errors: Int32?
  private var rest: [UInt8] = []
  private var keptErrors: [UInt8] = []
  private var end: End?

  /// Starts a program. It inherits no descriptor of this process, and it ignores and blocks no signal.
  ///
  /// - Parameters:
  ///   - path: the program's file.
  ///   - arguments: its arguments, without its own name.
  ///   - environment: its whole environment, as `NAME=value`.
  ///   - takesInput: whether it reads what ``send(_:)-([UInt8])`` sends; else its input is empty.
  ///   - isApart: whether it has its own process group, so that an interrupt from the keyboard does not reach
  ///     it.
  package init(
    path: String, _ arguments: [String], environment: [String], errors: Errors = .file("/dev/null"),
    takesInput: Bool = false, isApart: Bool = false
  ) throws(Refusal) {
    var pipes = Pipes()
    do throws(Refusal) {
      let fromOutput = try pipes.add()
      let toInput = takesInput ? try pipes.add() : nil
      let fromErrors = if case .kept = errors { try pipes.add() } else { nil as Pipes.Ends? }
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
      if let toInput {
        posix_spawn_file_actions_adddup2(&actions, toInput.read, 0)
      } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      }
      posix_spawn_file_actions_adddup2(&actions, fromOutput.write, 1)
      switch errors {
      case .file(let path):
        posix_spawn_file_actions_addopen(&actions, 2, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      case .output: posix_spawn_file_actions_adddup2(&actions, fromOutput.write, 2)
      case .kept: posix_spawn_file_actions_adddup2(&actions, fromErrors!.write, 2)
      }
      // Close all other descriptors. Otherwise the program would inherit LMDB's data files, for whose close
      // others wait. It would also inherit the pipes of other children, and a reader of such a pipe would
      // wait for this program's end.
      #if canImport(Glibc)
        var flags: Int16 = 0
        Self.closeAll(from: 3, in: &actions)
      #else
        var flags = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
      #endif
      // Unblock all signals and reset their handlers. The threads of a dispatch queue block signals, and a
      // process ignores some signals if it writes to pipes or was started in the background.
      var signals = sigset_t()
      sigemptyset(&signals)
      posix_spawnattr_setsigmask(&attributes, &signals)
      sigfillset(&signals)
      posix_spawnattr_setsigdefault(&attributes, &signals)
      flags |= Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
      if isApart { flags |= Int16(POSIX_SPAWN_SETPGROUP) }
      posix_spawnattr_setflags(&attributes, flags)
      posix_spawnattr_setpgroup(&attributes, 0)
      var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
      var environment: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
      defer { for text in argv + environment { free(text) } }
      var id: pid_t = 0
      let refusal = posix_spawn(&id, path, &actions, &attributes, &argv, &environment)
      guard refusal == 0 else { throw Refusal(number: refusal) }
      self.id = id
      output = pipes.keep(fromOutput.read)
      input = toInput.map { pipes.keep($0.write) }
      self.errors = fromErrors.map { pipes.keep($0.read) }
      pipes.closeRest()
    } catch {
      pipes.closeRest()
      throw error
    }
    // A program that has ended reads nothing. `send` then returns false; SIGPIPE must not end this process.
    if takesInput { signal(SIGPIPE, SIG_IGN) }
  }

  deinit {
    endInput()
    if end == nil {
      kill(id, SIGKILL)
      _ = reap()
    }
    if let errors { close(errors) }
    close(output)
  }

  #if canImport(Glibc)
    /// Makes the process close every descriptor from `first` on. Some versions of glibc lack the call for
    /// that, and no version shows it to Swift.
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

  /// Sends a signal. Does nothing if the process has been reaped, because another process may have its number
  /// by then.
  package func send(_ signal: Int32) { if end == nil { kill(id, signal) } }

  /// Waits for the end. Output that was not received yet is lost.
  package func wait() -> End {
    if let end { return end }
    while drainErrors() {}
    return reap()
  }

  private func reap() -> End {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7f
    let end: End = signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
    self.end = end
    return end
  }
}

// MARK: - Input

extension ChildProcess {
  /// Sends a line.
  @discardableResult
  package func send(_ line: String) -> Bool { send(Array("\(line)\n".utf8)) }

  /// Sends bytes, and waits until the process or its pipe has taken them. False if the process reads no more.
  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    guard let input else { return false }
    var start = 0
    while start < bytes.count {
      let count = bytes.withUnsafeBytes { write(input, $0.baseAddress! + start, $0.count - start) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      start += count
    }
    return true
  }

  /// Ends the input.
  package func endInput() {
    if let input { close(input) }
    input = nil
  }
}

// MARK: - Output

extension ChildProcess {
  /// The next bytes of the output, at least one; waits for them. Empty at the end of the output.
  package func receive(upTo count: Int) -> [UInt8] {
    while errors != nil {
      var waiting = [output, errors!].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&waiting, 2, -1) > 0 else { continue }
      // Also read the errors: the process would stop if that pipe were full.
      if waiting[1].revents != 0 { _ = drainErrors() }
      if waiting[0].revents != 0 { break }
    }
    return Self.read(output, upTo: count)
  }

  /// Reads and keeps some of the errors; waits for them. False at their end.
  private func drainErrors() -> Bool {
    guard let errors else { return false }
    let bytes = Self.read(errors, upTo: 65536)
    keptErrors += bytes.prefix(65536 - keptErrors.count)
    guard bytes.isEmpty else { return true }
    close(errors)
    self.errors = nil
    return false
  }

  /// The first 64 KiB of the errors.
  package var errorText: String { String(decoding: keptErrors, as: UTF8.self) }

  /// The rest of the output.
  package func receiveAll() -> [UInt8] {
    var bytes = rest
    rest = []
    while true {
      let next = receive(upTo: 65536)
      if next.isEmpty { return bytes }
      bytes += next
    }
  }

  /// Receives some output, and waits for it. False at the end of the output.
  package func receive() -> Bool {
    let bytes = receive(upTo: 65536)
    rest += bytes
    return !bytes.isEmpty
  }

  /// The next line of the received output.
  package func takeLine() -> String? {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { rest.removeSubrange(...end) }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// The next line; nil at the end of the output, or if no line arrives in time.
  package func line(waitingSeconds: Int32 = 600) -> String? {
    while true {
      if let line = takeLine() { return line }
      guard Self.ready([self], waitingMilliseconds: waitingSeconds * 1000) == [0], receive() else {
        return nil
      }
    }
  }

  /// All lines that are left.
  package func lines(waitingSeconds: Int32 = 600) -> [String] {
    var lines: [String] = []
    while let line = line(waitingSeconds: waitingSeconds) { lines.append(line) }
    return lines
  }

  /// Waits until some of the processes have output or have ended.
  ///
  /// - Returns: their indices; none if the time is over or a signal arrived.
  package static func ready(_ processes: [ChildProcess], waitingMilliseconds: Int32) -> [Int] {
    var waiting = processes.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
    guard poll(&waiting, nfds_t(waiting.count), waitingMilliseconds) > 0 else { return [] }
    return waiting.indices.filter { waiting[$0].revents != 0 }
  }

  private static func read(_ descriptor: Int32, upTo count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      repeat {
        initialized = systemRead(descriptor, buffer.baseAddress!, count)
      } while initialized < 0 && errno == EINTR
      initialized = max(0, initialized)
    }
  }
}

// Outside of the class, because `read` inside it is the method above.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

/// The pipes between two processes, until each end has its owner.
private struct Pipes {
  struct Ends {
    var read: Int32
    var write: Int32
  }

  private var open: [Int32] = []

  /// Creates a pipe that no child inherits by default.
  mutating func add() throws(ChildProcess.Refusal) -> Ends {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw ChildProcess.Refusal(number: errno) }
    // Descriptors 0, 1 and 2 may be free here, but they have a special meaning in a child. So use higher
    // ones.
    let high = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
    let number = errno
    for end in ends { close(end) }
    open += high.filter { $0 >= 0 }
    guard high.min()! >= 0 else { throw ChildProcess.Refusal(number: number) }
    return Ends(read: high[0], write: high[1])
  }

  /// Keeps an end open.
  mutating func keep(_ end: Int32) -> Int32 {
    open.removeAll { $0 == end }
    return end
  }

  mutating func closeRest() {
    for end in open { close(end) }
    open = []
  }
}
