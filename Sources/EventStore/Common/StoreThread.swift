#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A thread that belongs to one store.
enum StoreThread {
  /// Runs a body on a new thread, which ends with it.
  ///
  /// - Throws: ``StoreError`` `system`.
  static func start(_ body: @escaping @Sendable () -> Void) throws {
    let context = Unmanaged.passRetained(Body(body))
    #if canImport(Darwin)
      var thread: pthread_t?
      let result = pthread_create(
        &thread, nil,
        {
          Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      let started = thread
    #else
      var thread = pthread_t()
      let result = pthread_create(
        &thread, nil,
        {
          Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      let started: pthread_t? = thread
    #endif
    guard result == 0, let started else {
      context.release()
      throw StoreError(
        .system, "a thread could not be started: error \(result) (pthread_create)",
        hint: "the process is at its limit of threads or memory")
    }
    pthread_detach(started)
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
