@preconcurrency internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#endif

/// Calls a closure when a file may have been written to, by any process of this machine: on Linux when it was
/// (inotify), elsewhere and where that fails at intervals.
final class FileWatch: Sendable {
  /// `nonisolated(unsafe)`: any thread may cancel it.
  nonisolated(unsafe) private let source: any DispatchSourceProtocol

  private static let pollMilliseconds = 50
  private static let pauseMillisecondsMax = 1000

  /// - Parameters:
  ///   - pauseMilliseconds: so long it waits after a call, so that many writes are few calls.
  ///   - body: called on a queue of its own, one call at a time. If it returns false, it is called again, after pauses
  ///     that grow.
  init(_ path: String, pauseMilliseconds: Int, _ body: @escaping @Sendable () -> Bool) {
    let queue = DispatchQueue(label: "tributary.file-watch")
    #if canImport(Glibc)
      let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      if descriptor >= 0 {
        if Self.arm(descriptor, path) {
          source = Self.begin(descriptor, path, queue, pauseMilliseconds, body)
          return
        }
        close(descriptor)
      }
    #endif
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: .now(), repeating: .milliseconds(Self.pollMilliseconds),
      leeway: .milliseconds(Self.pollMilliseconds / 4))
    timer.setEventHandler { _ = body() }
    timer.activate()
    source = timer
  }

  deinit { cancel() }

  /// Ends the calls. One that has begun is completed.
  func cancel() { source.cancel() }

  #if canImport(Glibc)
    /// Asks for one event. If each write were one, that would take the writer as long as a small write.
    private static func arm(_ descriptor: Int32, _ path: String) -> Bool {
      inotify_add_watch(descriptor, path, UInt32(IN_MODIFY) | UInt32(IN_ONESHOT)) >= 0
    }

    private static func begin(
      _ descriptor: Int32, _ path: String, _ queue: DispatchQueue, _ pauseMilliseconds: Int,
      _ body: @escaping @Sendable () -> Bool
    ) -> any DispatchSourceProtocol {
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler {
        // Only that there are events matters.
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
          while read(descriptor, buffer.baseAddress!, buffer.count) > 0 || errno == EINTR {}
        }
        source.suspend()
        call(source, queue, pauseMilliseconds, { arm(descriptor, path) }, body)
      }
      // The descriptor is closed when no handler can run any more.
      source.setCancelHandler { close(descriptor) }
      source.activate()
      return source
    }

    /// Calls the closure until it returns true, and then lets the next event come.
    private static func call(
      _ source: any DispatchSourceRead, _ queue: DispatchQueue, _ pauseMilliseconds: Int,
      _ arm: @escaping @Sendable () -> Bool, _ body: @escaping @Sendable () -> Bool
    ) {
      let isDone = body()
      queue.asyncAfter(deadline: .now() + .milliseconds(pauseMilliseconds)) {
        // Of what was written in the pause, no event tells.
        if source.isCancelled || (isDone && arm() && body()) { return source.resume() }
        call(source, queue, min(2 * pauseMilliseconds, pauseMillisecondsMax), arm, body)
      }
    }
  #endif
}
