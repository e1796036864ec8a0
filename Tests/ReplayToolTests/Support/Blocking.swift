import Dispatch

/// Runs what waits for another process on a thread that no task needs: a test that blocked one of the few threads of tasks
/// would hold up all others.
func blocking<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Result(catching: body)) }
  }
}
