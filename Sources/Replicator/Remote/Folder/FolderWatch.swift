internal import EventStore

#if canImport(Glibc)
  @preconcurrency internal import Dispatch
  internal import Glibc
#endif

/// Notifies when a folder remote may have changed on this machine.
///
/// Each put ends with the removal of its temporary file: one watch of that folder sees the appends of all
/// zones. A network file system does not notify of changes by other machines: callers also poll.
///
/// The call that begins a watch may block if the file system does not answer: it runs on a thread of the
/// remote. All changes before the watch has begun are reported as one.
enum FolderWatch {
  #if canImport(Glibc)
    /// Watches the folder of temporary files (inotify).
    static func changes(of path: String, _ threads: BlockingThreads) -> AsyncStream<Void> {
      AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        do {
          try threads.start { begin(path, continuation) }
        } catch {
          continuation.finish()
        }
      }
    }

    private static func begin(_ path: String, _ continuation: AsyncStream<Void>.Continuation) {
      let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      guard descriptor >= 0 else { return continuation.finish() }
      let mask = UInt32(IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
      guard inotify_add_watch(descriptor, path, mask) >= 0 else {
        close(descriptor)
        return continuation.finish()
      }
      let queue = DispatchQueue(label: "tributary.folder-watch")
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler {
        if drain(descriptor) { continuation.yield() } else { continuation.finish() }
      }
      // The descriptor is closed when no handler can run any more.
      source.setCancelHandler { close(descriptor) }
      continuation.onTermination = { _ in source.cancel() }
      source.activate()
      if case .terminated = continuation.yield() { source.cancel() }
    }

    /// Reads the events that wait.
    ///
    /// - Returns: whether the folder still exists.
    private static func drain(_ descriptor: Int32) -> Bool {
      var isThere = true
      withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
        while true {
          let count = read(descriptor, buffer.baseAddress!, buffer.count)
          if count < 0 && errno == EINTR { continue }
          guard count > 0 else { return }
          var offset = 0
          while offset + MemoryLayout<inotify_event>.size <= count {
            let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let gone = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)
            if event.mask & gone != 0 { isThere = false }
            offset += MemoryLayout<inotify_event>.size + Int(event.len)
          }
        }
      }
      return isThere
    }
  #else
    /// This system does not notify: callers poll.
    static func changes(of path: String, _ threads: BlockingThreads) -> AsyncStream<Void> {
      AsyncStream { $0.finish() }
    }
  #endif
}
