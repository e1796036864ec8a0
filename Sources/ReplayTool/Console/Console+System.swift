import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension Console {
  /// The process's own: standard input, output and error.
  ///
  /// A closed pipe and a file over the process's limit become errors of the write instead of signals, and an interrupt from the
  /// keyboard is asked for where a command can end well.
  static func makeSystem() -> Console {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    Interruption.catchSignals()
    return Console(
      output: makeOutput(STDOUT_FILENO, "standard output"),
      errors: makeOutput(STDERR_FILENO, "standard error"),
      input: { DescriptorSource(descriptor: STDIN_FILENO, name: "standard input", closes: false) },
      isInterrupted: { Interruption.isRequested })
  }

  private static func makeOutput(_ descriptor: Int32, _ name: String) -> Output {
    let isTerminal = isatty(descriptor) == 1
    return Output(
      DescriptorSink(descriptor: descriptor, name: name), isTerminal: isTerminal,
      usesColor: isTerminal && wantsColor { name in getenv(name).map { String(cString: $0) } })
  }

  /// Whether the user's environment allows colours (https://no-color.org: any value but the empty one
  /// counts).
  static func wantsColor(_ environment: (String) -> String?) -> Bool {
    (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
  }
}

/// Notes that the user wants the command to end.
enum Interruption {
  private static let requested = Atomic(false)

  static var isRequested: Bool { requested.load(ordering: .relaxed) }

  /// From here on SIGINT and SIGTERM set a mark; the second one of a kind ends the process as ever.
  static func catchSignals() {
    // The mark is made before a handler may need it: a handler must not allocate.
    requested.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM] {
      signal(number) { number in
        Interruption.requested.store(true, ordering: .relaxed)
        signal(number, SIG_DFL)
      }
    }
  }
}
