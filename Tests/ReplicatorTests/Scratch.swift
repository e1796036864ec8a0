import EventStore
import Replicator
import StoreTesting
import Testing

@Test func scratch1() async throws {
  let tasks = (0..<8).map { index in Task { await Task.yield(); return index } }
  for t in tasks { _ = await t.value }
  print("1 ok")
}
@Test func scratch2() async throws {
  let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
  let tasks = (0..<8).map { index in Task { try await remote.objects.putIfAbsent(.marker, [1]) } }
  for t in tasks { _ = try await t.value }
  print("2 ok")
}
@Test func scratch3() async throws {
  let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
  let tasks = (0..<8).map { index in Task { try await remote.log.zoneEvents(after: nil) } }
  for t in tasks { _ = try await t.value }
  print("3 ok")
}
@Test func scratch4() async throws {
  let remote = MemoryRemote(identity: RemoteID(rawValue: 1))
  let tasks = (0..<8).map { index in Task { try await remote.log.createZone(ZoneID(name: "a"), proposing: IncarnationID(rawValue: UInt128(index + 1))) } }
  for t in tasks { _ = try await t.value }
  print("4 ok")
}
