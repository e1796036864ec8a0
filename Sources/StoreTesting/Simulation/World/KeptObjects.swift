import Replicator
import Synchronization

/// An object store that records the order of its puts, except those of the object that is overwritten.
final class KeptObjects: ObjectStore {
  private let objects: any ObjectStore
  private let puts: Mutex<[(name: ObjectName, bytes: [UInt8])]>

  init(_ objects: any ObjectStore, marker: [UInt8]) {
    self.objects = objects
    puts = Mutex([(.marker, marker)])
  }

  var name: String { objects.name }
  var count: Int { puts.withLock { $0.count } }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try await objects.get(name, bytesMax: bytesMax)
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    try await objects.getPrefix(name, count)
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    let isPut = try await objects.putIfAbsent(name, bytes)
    if isPut { puts.withLock { $0.append((name, bytes)) } }
    return isPut
  }

  func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    let put = try await objects.putIfAbsent(name, timed: bytes)
    if case .put(let time) = put, let bytes = bytes(time) { puts.withLock { $0.append((name, bytes)) } }
    return put
  }

  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    try await objects.overwrite(name, bytes)
  }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) { try await objects.makeLasting(name) }
  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    try await objects.nextEntry(after: name)
  }
  func list() async throws(RemoteError) -> [ObjectEntry] { try await objects.list() }
  func delete(_ name: ObjectName) async throws(RemoteError) { try await objects.delete(name) }
  func changes() -> AsyncStream<RemoteHint> { objects.changes() }

  /// Replaces an object's bytes, or removes the object. One that was not there counts as put: a remote that loses what was put
  /// later loses it too.
  func replace(_ name: ObjectName, with bytes: [UInt8]?) async throws(RemoteError) {
    try await objects.delete(name)
    guard let bytes, try await objects.putIfAbsent(name, bytes) else { return }
    puts.withLock { puts in
      if !puts.contains(where: { $0.name == name }) { puts.append((name, bytes)) }
    }
  }

  /// Removes the objects that were put after the first `count`.
  ///
  /// - Returns: the removed objects, in the order in which they were put.
  func takeBack(to count: Int) async throws(RemoteError) -> [(name: ObjectName, bytes: [UInt8])] {
    let later = puts.withLock { puts in
      defer { puts.removeSubrange(count...) }
      return Array(puts[count...])
    }
    for (name, _) in later { try await objects.delete(name) }
    return later
  }

  func copy() -> MemoryObjects {
    let copy = MemoryObjects(name: "old copy")
    let puts = puts.withLock { $0 }
    copy.contents = Dictionary(puts.map { ($0.name, $0.bytes) }, uniquingKeysWith: { $1 })
    return copy
  }
}
