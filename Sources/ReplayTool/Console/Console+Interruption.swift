import Replicator

extension Console {
  /// Runs work in a task, and cancels the task if the user interrupts the command.
  ///
  /// - Throws: ``Interrupted``, and any error of the work.
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
