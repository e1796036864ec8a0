#if canImport(Glibc)
  package import Glibc
#elseif canImport(Darwin)
  package import Darwin
#endif

/// Another program in a process of its own: what it says, and how it ends.
///
/// Foundation's `Process` is not used: it learns of an end through a thread that all processes share, and where many come and
/// go at once on several threads, it misses some.
package final class ChildProcess {
  /// How it ended.
  package enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  /// Where it writes its errors.
  package enum Errors {
    /// To a file, which is emptied before.
    case file(String)
    /// To where its output goes.
    case output
    /// To this process, which keeps their start: ``ChildProcess/errorText``.
    case kept
  }

  /// Why a program could not be started: the number of the system's error.
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

  /// Starts a program. No descriptor of this process stays open in it, and no signal is ignored or held back.
  ///
  /// - Parameters:
  ///   - path: the program's file.
  ///   - arguments: what it is called with, without its own name.
  ///   - environment: all of its environment, as `NAME=value`.
  ///   - takesInput: whether ``send(_:)-([UInt8])`` gives it something to read; else it reads nothing.
  ///   - isApart: whether it has a process group of its own, so that an interrupt from the keyboard passes it by.
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
      // LMDB's data files would be inherited, which others wait for to be closed. So would the pipes of other children, and
      // who reads such a pipe to its end would wait for this one.
      #if canImport(Glibc)
        var flags: Int16 = 0
        Self.closeAll(from: 3, in: &actions)
      #else
        var flags = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
      #endif
      // A thread of a queue holds signals back, and a process ignores some: who writes to pipes does, and who was started
      // in the background.
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
    // Who has ended reads nothing: that is an answer, and no reason to end as well.
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

  /// Sends a signal, unless its end is known: then its number may be another's.
  package func send(_ signal: Int32) { if end == nil { kill(id, signal) } }

  /// Waits for its end. What it has not said yet is lost.
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

// MARK: - What it reads

extension ChildProcess {
  /// Gives it a line to read.
  @discardableResult
  package func send(_ line: String) -> Bool { send(Array("\(line)\n".utf8)) }

  /// Gives it bytes to read, and waits until it or its pipe has taken them. False if it reads no more.
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

  /// Says that nothing more comes.
  package func endInput() {
    if let input { close(input) }
    input = nil
  }
}

// MARK: - What it says

extension ChildProcess {
  /// The next bytes that it said, at least one, for which this waits. None at the end of the output.
  package func receive(upTo count: Int) -> [UInt8] {
    while errors != nil {
      var waiting = [output, errors!].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&waiting, 2, -1) > 0 else { continue }
      // A full pipe of errors would stop it.
      if waiting[1].revents != 0 { _ = drainErrors() }
      if waiting[0].revents != 0 { break }
    }
    return Self.read(output, upTo: count)
  }

  /// Keeps what it said of errors, for which this waits. False at their end.
  private func drainErrors() -> Bool {
    guard let errors else { return false }
    let bytes = Self.read(errors, upTo: 65536)
    keptErrors += bytes.prefix(65536 - keptErrors.count)
    guard bytes.isEmpty else { return true }
    close(errors)
    self.errors = nil
    return false
  }

  /// What it said of errors until it ended, the first 64 KiB.
  package var errorText: String { String(decoding: keptErrors, as: UTF8.self) }

  /// All that is left of its output.
  package func receiveAll() -> [UInt8] {
    var bytes = rest
    rest = []
    while true {
      let next = receive(upTo: 65536)
      if next.isEmpty { return bytes }
      bytes += next
    }
  }

  /// Receives a part of what it said, for which it waits. False at the end of the output.
  package func receive() -> Bool {
    let bytes = receive(upTo: 65536)
    rest += bytes
    return !bytes.isEmpty
  }

  /// The next line of what was received.
  package func takeLine() -> String? {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { rest.removeSubrange(...end) }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// The next line, nil at the end of the output, or if none came within the time.
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

  /// Waits until some of the processes said something or ended.
  ///
  /// - Returns: their indices; none after the time, or after a signal came.
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

// `read` alone names the method above.
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

  /// A pipe that no child inherits by itself.
  mutating func add() throws(ChildProcess.Refusal) -> Ends {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw ChildProcess.Refusal(number: errno) }
    // The numbers of standard input, output and errors may be free here, and have their meaning in a child.
    let high = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
    let number = errno
    for end in ends { close(end) }
    open += high.filter { $0 >= 0 }
    guard high.min()! >= 0 else { throw ChildProcess.Refusal(number: number) }
    return Ends(read: high[0], write: high[1])
  }

  /// Leaves an end open.
  mutating func keep(_ end: Int32) -> Int32 {
    open.removeAll { $0 == end }
    return end
  }

  mutating func closeRest() {
    for end in open { close(end) }
    open = []
  }
}
