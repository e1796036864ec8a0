import Testing

@testable import Replicator
@testable import StoreTesting

@Suite("The objects of a simulated remote")
struct ObjectsThatAreKept {
  @Test("Who loses what was put after a time loses garbage that came then too, and no other")
  func takenBack() async throws {
    let kept = KeptObjects(MemoryObjects(), marker: [1])
    _ = try await kept.putIfAbsent(.zoneEvent(1), [2])
    try await kept.replace(.zoneEvent(2), with: [0])
    let count = kept.count
    // One that was there stays where it was put, however often it is damaged.
    try await kept.replace(.zoneEvent(1), with: [0])
    #expect(kept.count == count)
    _ = try await kept.putIfAbsent(.zoneEvent(3), [2])
    try await kept.replace(.zoneEvent(4), with: [0])
    #expect(try await kept.takeBack(to: count).map { $0.name } == [.zoneEvent(3), .zoneEvent(4)])
    let names = try await kept.list().compactMap(\.name)
    #expect(Set(names) == [.zoneEvent(1), .zoneEvent(2)])
    _ = try await kept.takeBack(to: 1)
    #expect(try await kept.list().isEmpty)
  }
}
