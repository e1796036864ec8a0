import EventStore
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension Console {
  /// The console of this process: standard input, output and error.
  ///
  /// Writing to a closed pipe, or beyond the limit for file sizes, then gives an error instead of a signal.
  /// Where a command can end cleanly, it asks whether an interrupt from the keyboard has occurred.
  static func makeSystem() -> Console {
    SystemEnvironment.fillStandardDescriptors()
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

  /// Whether the user's environment allows colours (https://no-color.org: any non-empty value disables them).
  static func wantsColor(_ environment: (String) -> String?) -> Bool {
    (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
  }
}

/// Records that the user wants the command to end.
enum Interruption {
  private static let requested = Atomic(false)

  static var isRequested: Bool { requested.load(ordering: .relaxed) }

  /// From now on, SIGINT and SIGTERM set a mark. A second signal of the same kind ends the process as usual.
  static func catchSignals() {
    // The mark is created before a handler can run: a handler must not allocate.
    requested.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM] {
      signal(number) { number in
        Interruption.requested.store(true, ordering: .relaxed)
        signal(number, SIG_DFL)
      }
    }
  }
}
