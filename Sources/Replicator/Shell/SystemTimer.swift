/// Waits by the system's clock. Nothing else in this target uses a clock.
public enum SystemTimer {
  /// Waits the given number of milliseconds.
  ///
  /// - Throws: `CancellationError`.
  public static func sleep(milliseconds: Int64) async throws {
    try await Task.sleep(for: .milliseconds(milliseconds))
  }
}
