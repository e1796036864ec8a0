import Replicator

/// A call of a remote that its caller waits for.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulatedCall<Answer: Sendable>: @unchecked Sendable {
  private var continuation: CheckedContinuation<Result<Answer, RemoteError>, Never>?

  init(_ continuation: CheckedContinuation<Result<Answer, RemoteError>, Never>) {
    self.continuation = continuation
  }

  /// Gives the caller its answer, unless it has one.
  func answer(_ result: Result<Answer, RemoteError>) {
    continuation?.resume(returning: result)
    continuation = nil
  }
}

/// What the network does with a call.
struct CallFate {
  enum Refusal { case throttled, unavailable, denied }

  /// When it arrives, in milliseconds after it was made; nil if it never does.
  var requestMilliseconds: Int64? = 0
  /// How long its answer takes; nil if it is lost.
  var answerMilliseconds: Int64? = 0
  /// When it arrives once more.
  var repeatMilliseconds: Int64?
  var refusal: Refusal?
  var isDamaged = false
}
