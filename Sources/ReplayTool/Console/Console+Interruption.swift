import Replicator

extension Console {
  /// Runs work of a task, and cancels it once the user asks for an end.
  ///
  /// - Throws: ``Interrupted``; what the work throws.
  func untilInterrupted<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let work = Task { try await body() }
    let watching = Task {
      try await Self.wait(while: { !isInterrupted() })
      work.cancel()
    }
    defer { watching.cancel() }
    do {
      return try await work.value
    } catch is CancellationError {
      throw Interrupted()
    }
  }

  static func wait(while condition: () -> Bool) async throws {
    while condition() { try await SystemTimer.sleep(milliseconds: 100) }
  }
}
