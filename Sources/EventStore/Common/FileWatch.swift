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

  /// - Parameters:
  ///   - pauseMilliseconds: so long it waits after a call, so that many writes are few calls.
  ///   - body: called on a queue of its own, one call at a time.
  init(_ path: String, pauseMilliseconds: Int, _ body: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "tributary.file-watch")
    #if canImport(Glibc)
      let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      if descriptor >= 0 {
        if inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 {
          source = Self.begin(descriptor, queue, pauseMilliseconds, body)
          return
        }
        close(descriptor)
      }
    #endif
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: .now(), repeating: .milliseconds(Self.pollMilliseconds),
      leeway: .milliseconds(Self.pollMilliseconds / 4))
    timer.setEventHandler(handler: body)
    timer.activate()
    source = timer
  }

  deinit { cancel() }

  /// Ends the calls. One that has begun is completed.
  func cancel() { source.cancel() }

  #if canImport(Glibc)
    private static func begin(
      _ descriptor: Int32, _ queue: DispatchQueue, _ pauseMilliseconds: Int,
      _ body: @escaping @Sendable () -> Void
    ) -> any DispatchSourceProtocol {
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler {
        // Only that there are events matters.
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
          while read(descriptor, buffer.baseAddress!, buffer.count) > 0 || errno == EINTR {}
        }
        body()
        // Writes of the pause are one event.
        source.suspend()
        queue.asyncAfter(deadline: .now() + .milliseconds(pauseMilliseconds)) { source.resume() }
      }
      // The descriptor is closed when no handler can run any more.
      source.setCancelHandler { close(descriptor) }
      source.activate()
      return source
    }
  #endif
}
