import Replicator
import Synchronization

/// Objects that remember in which order they were put.
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

  func list() async throws(RemoteError) -> [ObjectEntry] { try await objects.list() }
  func delete(_ name: ObjectName) async throws(RemoteError) { try await objects.delete(name) }
  func changes() -> AsyncStream<Void> { objects.changes() }

  /// Puts other bytes in an object's place, or takes it away.
  func replace(_ name: ObjectName, with bytes: [UInt8]?) async throws(RemoteError) {
    try await objects.delete(name)
    if let bytes { _ = try await objects.putIfAbsent(name, bytes) }
  }

  /// Takes away what was put after so many objects.
  ///
  /// - Returns: what that was, in the order in which it was put.
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

/// Objects that nothing can be put into, as a copy that is mounted for reading.
struct ReadOnlyObjects: ObjectStore {
  private let objects: MemoryObjects

  init(_ objects: MemoryObjects) { self.objects = objects }

  var name: String { objects.name }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try await objects.get(name, bytesMax: bytesMax)
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    try await objects.getPrefix(name, count)
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    throw RemoteError(.denied, "\(self.name) may only be read", hint: "mount it for writing")
  }

  func list() async throws(RemoteError) -> [ObjectEntry] { try await objects.list() }
  func delete(_ name: ObjectName) async throws(RemoteError) {}
  func changes() -> AsyncStream<Void> { objects.changes() }
}
