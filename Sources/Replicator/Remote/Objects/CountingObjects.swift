/// An object store whose calls are counted.
struct CountingObjects: ObjectStore {
  let objects: any ObjectStore
  let counter: RemoteCallCounter

  var name: String { objects.name }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    counter.add(\.gets)
    return try await objects.get(name, bytesMax: bytesMax)
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    counter.add(\.prefixGets)
    return try await objects.getPrefix(name, count)
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    counter.add(\.puts)
    return try await objects.putIfAbsent(name, bytes)
  }

  func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    counter.add(\.puts)
    return try await objects.putIfAbsent(name, timed: bytes)
  }

  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    counter.add(\.puts)
    try await objects.overwrite(name, bytes)
  }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) { try await objects.makeLasting(name) }

  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    counter.add(\.entryLists)
    return try await objects.nextEntry(after: name)
  }

  func list() async throws(RemoteError) -> [ObjectEntry] {
    counter.add(\.lists)
    return try await objects.list()
  }

  func delete(_ name: ObjectName) async throws(RemoteError) {
    counter.add(\.deletes)
    try await objects.delete(name)
  }

  func removeAssets(of incarnation: IncarnationID) async throws(RemoteError) {
    try await objects.removeAssets(of: incarnation)
  }

  func changes() -> AsyncStream<RemoteHint> { objects.changes() }
}
