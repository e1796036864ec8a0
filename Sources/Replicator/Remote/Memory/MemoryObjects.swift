internal import Synchronization

/// Objects in memory. Many replicators of one process may share them.
package final class MemoryObjects: ObjectStore {
  struct State {
    var objects: [ObjectName: [UInt8]] = [:]
    var watchers: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var nextWatcher: UInt64 = 0
  }

  package let name: String
  let state = Mutex(State())

  package init(name: String = "memory") { self.name = name }

  package func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    guard let bytes = object(name) else { return nil }
    guard bytes.count <= bytesMax else { throw .tooLarge(name, UInt64(bytes.count), bytesMax) }
    return bytes
  }

  package func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    object(name).map { ObjectPrefix(bytes: Array($0.prefix(count)), totalBytes: UInt64($0.count)) }
  }

  package func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    let watchers: [AsyncStream<Void>.Continuation]? = state.withLock { state in
      guard state.objects[name] == nil else { return nil }
      state.objects[name] = bytes
      // In the order in which they came: the first to wake may decide what is shipped first.
      return state.watchers.sorted { $0.key < $1.key }.map(\.value)
    }
    // Outside the lock: a task that is being cancelled holds its own while it takes this one
    // (`onTermination`).
    for watcher in watchers ?? [] { watcher.yield() }
    return watchers != nil
  }

  /// Does nothing: an object in memory lasts as long as the others.
  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {}

  package func list() async throws(RemoteError) -> [ObjectEntry] {
    let sizes = state.withLock { $0.objects.mapValues(\.count) }
    return sizes.map { ObjectEntry(path: $0.key.description, bytes: UInt64($0.value)) }
      .sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  package func delete(_ name: ObjectName) async throws(RemoteError) {
    state.withLock { $0.objects[name] = nil }
  }

  /// Removes the assets of a log.
  func removeAssets(of incarnation: IncarnationID) {
    state.withLock { state in
      state.objects = state.objects.filter { !($0.key.incarnation == incarnation && $0.key.isOfAsset) }
    }
  }

  package func changes() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let number = state.withLock { state in
        state.nextWatcher += 1
        state.watchers[state.nextWatcher] = continuation
        return state.nextWatcher
      }
      continuation.onTermination = { [weak self] _ in
        // The last reference is released outside the lock.
        _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
      }
    }
  }

  /// Replaces an object, or removes it.
  func replace(_ name: ObjectName, with bytes: [UInt8]?) {
    state.withLock { $0.objects[name] = bytes }
  }

  private func object(_ name: ObjectName) -> [UInt8]? { state.withLock { $0.objects[name] } }
}
