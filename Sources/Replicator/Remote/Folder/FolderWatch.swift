internal import EventStore

#if canImport(Glibc)
  @preconcurrency internal import Dispatch
  internal import Glibc
#endif

/// Notifies when a folder remote may have changed on this machine.
///
/// Each put ends with the removal of its temporary file: one watch of that folder sees the appends of all
/// zones, but not which ones. Those of this process are known otherwise. The ``HintObject`` is renamed out of
/// that folder: then it says what has changed. A network file system does not notify of changes by other
/// machines: callers also poll.
///
/// The call that begins a watch may block if the file system does not answer: it runs on a thread of the
/// remote. All changes before the watch has begun are one hint.
enum FolderWatch {
  #if canImport(Glibc)
    /// Watches the folder of temporary files (inotify), and gives hints to a listener.
    ///
    /// - Parameter isOwn: whether a temporary file is this process's.
    static func begin(
      _ path: String, _ continuation: AsyncStream<RemoteHint>.Continuation, _ threads: BlockingThreads,
      _ isOwn: @escaping @Sendable (String) -> Bool
    ) {
      do {
        try threads.start { begin(path, continuation, isOwn) }
      } catch {
        continuation.finish()
      }
    }

    private static func begin(
      _ path: String, _ continuation: AsyncStream<RemoteHint>.Continuation,
      _ isOwn: @escaping @Sendable (String) -> Bool
    ) {
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
        var hint: RemoteHint?
        let isThere = drain(descriptor) { mask, name in
          if mask & UInt32(IN_Q_OVERFLOW) != 0 || (mask & UInt32(IN_DELETE) != 0 && !isOwn(name)) {
            hint = .anything
          } else if mask & UInt32(IN_MOVED_FROM) != 0, hint == nil, !isOwn(name) {
            hint = .logs([:])
          }
        }
        if let hint { continuation.tell(hint) }
        if !isThere { continuation.finish() }
      }
      // The descriptor is closed when no handler can run any more.
      source.setCancelHandler { close(descriptor) }
      continuation.onTermination = { _ in source.cancel() }
      source.activate()
      // Of what was put before, the hints tell.
      if !continuation.tell(.logs([:])) { source.cancel() }
    }

    /// Reads the events that wait.
    ///
    /// - Parameter body: takes the mask and the name of each.
    /// - Returns: whether the folder still exists.
    private static func drain(_ descriptor: Int32, _ body: (UInt32, String) -> Void) -> Bool {
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
            let start = offset + MemoryLayout<inotify_event>.size
            offset = start + Int(event.len)
            // The name is padded with zeros.
            let name = buffer[start..<min(offset, count)].prefix { $0 != 0 }
            body(event.mask, String(decoding: name, as: UTF8.self))
          }
        }
      }
      return isThere
    }
  #else
    /// This system does not notify: callers poll.
    static func begin(
      _ path: String, _ continuation: AsyncStream<RemoteHint>.Continuation, _ threads: BlockingThreads,
      _ isOwn: @escaping @Sendable (String) -> Bool
    ) {
      continuation.finish()
    }
  #endif
}
