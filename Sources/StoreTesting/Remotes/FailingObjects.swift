package import Replicator
internal import Synchronization

/// Objects of which no more can be changed after some changes.
package final class FailingObjects: ObjectStore {
  private let objects: any ObjectStore
  private let left: Mutex<Int>
  private let most: Int
  package var name: String { objects.name }
  /// How many changes were made.
  package var count: Int { most - left.withLock { max(0, $0) } }

  /// - Parameter most: so many changes are made.
  package init(_ objects: any ObjectStore, after most: Int) {
    (self.objects, self.most) = (objects, most)
    left = Mutex(most)
  }

  private func change() throws(RemoteError) {
    let isOver = left.withLock {
      $0 -= 1
      return $0 < 0
    }
    if isOver { throw RemoteError(.unreachable, "it is gone", hint: "try again") }
  }

  package func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try await objects.get(name, bytesMax: bytesMax)
  }

  package func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    try await objects.getPrefix(name, count)
  }

  package func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    try change()
    return try await objects.putIfAbsent(name, bytes)
  }

  package func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    try change()
    try await objects.overwrite(name, bytes)
  }

  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {
    try await objects.makeLasting(name)
  }

  package func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    try await objects.nextEntry(after: name)
  }

  package func list() async throws(RemoteError) -> [ObjectEntry] { try await objects.list() }

  package func delete(_ name: ObjectName) async throws(RemoteError) {
    try change()
    try await objects.delete(name)
  }

  package func changes() -> AsyncStream<RemoteHint> { objects.changes() }
}
