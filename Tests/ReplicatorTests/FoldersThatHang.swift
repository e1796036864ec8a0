import Synchronization
import Testing

@testable import EventStore
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A file system that does not answer")
struct FoldersThatHang {
  /// Blocks calls of the file system until it is opened, like those of a share whose server is gone.
  private final class Barrier: Sendable {
    private let state = Mutex((isShut: false, waiting: 0))
    private let pipe: (read: Int32, write: Int32)

    init() {
      var ends: [Int32] = [0, 0]
      #if canImport(Glibc)
        precondition(Glibc.pipe(&ends) == 0)
      #else
        precondition(Darwin.pipe(&ends) == 0)
      #endif
      pipe = (ends[0], ends[1])
    }

    deinit {
      close(pipe.read)
      close(pipe.write)
    }

    /// How many calls wait.
    var waiting: Int { state.withLock { $0.waiting } }

    func shut() { state.withLock { $0.isShut = true } }

    /// Lets all calls continue.
    func open() {
      let count = state.withLock { state in
        state.isShut = false
        return state.waiting
      }
      let bytes = [UInt8](repeating: 1, count: count)
      precondition(write(pipe.write, bytes, count) == count)
    }

    /// Lets new calls pass; waiting calls keep waiting.
    func forget() { state.withLock { $0.isShut = false } }

    /// Blocks the calling thread in a read of a pipe.
    func pass() {
      let waits = state.withLock { state in
        if state.isShut { state.waiting += 1 }
        return state.isShut
      }
      guard waits else { return }
      var byte: UInt8 = 0
      precondition(read(pipe.read, &byte, 1) == 1)
      state.withLock { $0.waiting -= 1 }
    }
  }

  private static func code<R>(_ task: Task<R, any Error>) async -> RemoteError.Code? {
    do {
      _ = try await task.value
      return nil
    } catch {
      return (error as? RemoteError)?.code
    }
  }

  @Test("many hanging calls stop no other task and no cancellation; when it answers, calls continue")
  func manyCalls() async throws {
    let scratch = TemporaryDirectory()
    let path = scratch.path + "/remote"
    _ = try await FolderRemote.create(directory: path)
    let barrier = Barrier()
    let calls = FolderCalls { _ in
      barrier.pass()
      return nil
    }
    let objects = FolderObjects(directory: path, calls: calls, makeRandom: seededBits(1))
    let name = ObjectName.entry(of: IncarnationID(rawValue: 5), 1)
    barrier.shut()
    let count = 4 * Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 2 * FolderObjects.threadsMax
    let hung = (0..<count).map { index in
      Task<Void, any Error> {
        switch index % 3 {
        case 0: _ = try await objects.get(.marker, bytesMax: 100)
        case 1: _ = try await objects.putIfAbsent(name, [1, 2, 3])
        default: _ = try await objects.list()
        }
      }
    }
    while barrier.waiting < FolderObjects.threadsMax { await Task.yield() }
    // Other tasks work: as many at the same time as calls hang.
    let sum = await withTaskGroup(of: Int.self) { group in
      for number in 0..<count { group.addTask { number } }
      return await group.reduce(0, +)
    }
    #expect(sum == count * (count - 1) / 2)
    #expect(barrier.waiting == FolderObjects.threadsMax && objects.threads.count == FolderObjects.threadsMax)
    for task in hung { task.cancel() }
    for task in hung { #expect(await Self.code(task) == .cancelled) }
    // Cancelled calls keep their threads: one more waits for a thread, and can be cancelled too.
    let late = Task<Void, any Error> { _ = try await objects.get(.marker, bytesMax: 100) }
    late.cancel()
    #expect(await Self.code(late) == .cancelled)
    let patient = Task { try await objects.get(.marker, bytesMax: 100) }
    await Task.yield()
    #expect(barrier.waiting == FolderObjects.threadsMax)
    barrier.open()
    #expect(try await patient.value?.count == RemoteMarker.byteCount)
    // A call that was cancelled before it started did nothing.
    #expect(try await objects.list().map(\.path) == ["remote"])
  }

  @Test("a few calls that hang leave the remaining threads to the others")
  func fewCalls() async throws {
    let scratch = TemporaryDirectory()
    let path = scratch.path + "/remote"
    _ = try await FolderRemote.create(directory: path)
    let barrier = Barrier()
    let calls = FolderCalls { _ in
      barrier.pass()
      return nil
    }
    let objects = FolderObjects(directory: path, calls: calls, makeRandom: seededBits(1))
    barrier.shut()
    let hung = Task<Void, any Error> { _ = try await objects.get(.marker, bytesMax: 100) }
    while barrier.waiting < 1 { await Task.yield() }
    hung.cancel()
    #expect(await Self.code(hung) == .cancelled)
    // The share answers again, but not the call that it lost.
    let stuck = barrier.waiting
    barrier.forget()
    #expect(try await objects.get(.marker, bytesMax: 100)?.count == RemoteMarker.byteCount)
    #expect(stuck == 1 && barrier.waiting == 1)
    barrier.open()
  }

  @Test("a round against a remote that hangs ends when its task is cancelled")
  func rounds() async throws {
    let scratch = TemporaryDirectory()
    let path = scratch.path + "/remote"
    _ = try await FolderRemote.create(directory: path)
    let barrier = Barrier()
    let calls = FolderCalls { _ in
      barrier.pass()
      return nil
    }
    let objects = FolderObjects(directory: path, calls: calls, makeRandom: seededBits(1))
    let device = try Device(in: scratch.path, "a", seed: 1)
    try await device.set("title", of: "first", to: 1)
    let replicator = LogReplicator(store: device.store, remote: FolderRemote(objects))
    barrier.shut()
    let round = Task { try await replicator.syncOnce() }
    let running = Task { await replicator.run() }
    while barrier.waiting < 2 { await Task.yield() }
    round.cancel()
    running.cancel()
    await #expect(throws: CancellationError.self) { try await round.value }
    await running.value
    barrier.open()
    let report = try await replicator.syncOnce()
    #expect(report.isInSync && report.sent == 1)
    device.store.close()
  }

  #if canImport(Glibc)
    @Test("the remote's threads end with it, a hanging one when its call returns")
    func threadsEnd() async throws {
      let scratch = TemporaryDirectory()
      let path = scratch.path + "/remote"
      _ = try await FolderRemote.create(directory: path)
      let barrier = Barrier()
      // Each thread has a thread-local value, which is destroyed when the thread ends.
      let ends = Ends()
      var key = pthread_key_t()
      #expect(pthread_key_create(&key) { Unmanaged<Ends>.fromOpaque($0!).takeRetainedValue().add() } == 0)
      var objects: FolderObjects? = FolderObjects(
        directory: path,
        calls: FolderCalls { [key] _ in
          if pthread_getspecific(key) == nil {
            pthread_setspecific(key, Unmanaged.passRetained(ends).toOpaque())
          }
          barrier.pass()
          return nil
        }, makeRandom: seededBits(1))
      #expect(try await objects?.get(.marker, bytesMax: 100) != nil)
      #expect(ends.count == 0 && objects?.threads.count == 1)
      barrier.shut()
      let hung = Task<Void, any Error> { [objects] in _ = try await objects?.get(.marker, bytesMax: 100) }
      while barrier.waiting < 1 { await Task.yield() }
      hung.cancel()
      #expect(await Self.code(hung) == .cancelled)
      objects = nil
      #expect(ends.count == 0)
      barrier.open()
      while ends.count < 1 { await Task.yield() }
    }

    /// Counts ended threads.
    private final class Ends: Sendable {
      private let state = Mutex(0)
      var count: Int { state.withLock { $0 } }
      func add() { state.withLock { $0 += 1 } }
    }
  #endif
}
