/// The machine's own time, as a replicator waits for it. Nothing else in this target does.
public enum SystemTimer {
  /// Waits so many milliseconds.
  ///
  /// - Throws: `CancellationError`.
  public static func sleep(milliseconds: Int64) async throws {
    try await Task.sleep(for: .milliseconds(milliseconds))
  }
}
