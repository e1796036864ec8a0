/// A flag that one thread waits for and others set.
///
/// It is `@unchecked Sendable` because its monitor guards its state.
final class Signal: @unchecked Sendable {
  private let monitor = Monitor()
  private var isRaised = false

  func raise() { monitor.change { isRaised = true } }

  /// Waits until the flag is set, and clears it.
  func wait() {
    monitor.wait {
      defer { isRaised = false }
      return isRaised
    }
  }
}
