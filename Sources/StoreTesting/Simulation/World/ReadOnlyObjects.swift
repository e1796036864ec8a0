import Replicator

/// An object store that refuses puts, like a copy that is mounted read-only.
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

  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    throw RemoteError(.denied, "\(self.name) may only be read", hint: "mount it for writing")
  }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) { try await objects.makeLasting(name) }
  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    try await objects.nextEntry(after: name)
  }
  func list() async throws(RemoteError) -> [ObjectEntry] { try await objects.list() }
  func delete(_ name: ObjectName) async throws(RemoteError) {}
  func changes() -> AsyncStream<RemoteHint> { objects.changes() }
}
