import Synchronization

/// A line on standard error that shows the progress of long work, if a person sees it.
///
/// Long work also uses it to notice that the user wants it to end.
final class Progress: Sendable {
  private static let millisecondsBetweenDraws: Int64 = 100
  private static let barWidth = 30

  private let console: Console
  private let lastDraw = Mutex<Int64?>(nil)

  init(_ console: Console) { self.console = console }

  /// Whether the user interrupted the command.
  var isInterrupted: Bool { console.isInterrupted() }

  /// Shows the progress.
  ///
  /// - Throws: ``Interrupted`` if the user interrupted the command.
  func update(_ what: String, done: UInt64, total: UInt64? = nil) throws {
    if isInterrupted { throw Interrupted() }
    guard console.errors.isTerminal else { return }
    let now = console.wallMilliseconds()
    let isDue = lastDraw.withLock { last in
      if let last, now >= last, now - last < Self.millisecondsBetweenDraws { return false }
      last = now
      return true
    }
    guard isDue else { return }
    try console.errors.text("\r\u{1B}[K\(Self.text(what, done, total))")
    try console.errors.flush()
  }

  /// Removes the line.
  func end() {
    let wasDrawn = lastDraw.withLock { last in
      defer { last = nil }
      return last != nil
    }
    guard wasDrawn else { return }
    // The line is not important: an error in removing it is ignored.
    try? console.errors.text("\r\u{1B}[K")
    try? console.errors.flush()
  }

  private static func text(_ what: String, _ done: UInt64, _ total: UInt64?) -> String {
    guard let total, total > 0 else { return "\(what) \(Display.count(done))" }
    let share = Double(min(done, total)) / Double(total)
    let filled = Int(share * Double(barWidth))
    let bar = String(repeating: "━", count: filled) + String(repeating: "╌", count: barWidth - filled)
    return "\(what) \(bar) \(Int(share * 100)) %"
  }
}

/// The user asked the command to end.
struct Interrupted: Error {}
