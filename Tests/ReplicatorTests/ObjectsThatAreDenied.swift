import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Objects of one zone that a user may not read end neither the audit nor the repair of others")
struct ObjectsThatAreDenied {
  let other = ZoneID(name: "other")

  enum Denied: CaseIterable {
    /// The directory of the log's entries.
    case directory
    /// The same, but the names in it can be requested, and each is denied.
    case names
    case entry
    case amendment
    case asset
    case chunk
  }

  /// Whether a case denies an object of a log.
  private static func isDenied(_ name: ObjectName, _ denied: Denied) -> Bool {
    switch denied {
    case .directory, .names: name.offset != nil
    case .entry: name.offset == 2
    case .amendment: name.amendedOffset != nil
    case .asset: name.isOfAsset
    case .chunk: name.isOfAsset && name.last != "manifest"
    }
  }

  @Test("Each is reported, and another zone's entry is put back", arguments: Denied.allCases)
  func told(denied: Denied) async throws {
    let scratch = TemporaryDirectory()
    let place = try await RemotePlace(.memory, in: scratch.path)
    let device = try Device(in: scratch.path, "d1", seed: 1)
    for number in 0..<3 as Range<UInt8> {
      _ = try await device.setAsset(assetBytes(1000, seed: number), of: Name("\(number)"))
      try await device.set("title", of: Name("\(number)"), to: 1, in: other)
      try await device.sync(place.remote)
    }
    let zones = try device.store.syncState().zones
    let first = try #require(zones.first { $0.zone != other }?.token?.incarnation)
    let second = try #require(zones.first { $0.zone == other }?.token?.incarnation)
    if denied == .amendment {
      try await place.damage(.zeros, first, 2)
      try await place.replace(.amendment(of: first, 2), with: [1, 2, 3])
    }
    try await place.damage(.zeros, second, 2)
    let objects = DeniedObjects(
      objects: place.objects, hasNames: ![.directory, .asset].contains(denied),
      isListed: ![.directory, .names].contains(denied)
    ) { $0.incarnation == first && Self.isDenied($0, denied) }
    let remote = ObjectRemote(objects)
    func audit() async throws -> RemoteAudit {
      try await RemoteAudit(of: remote, objects: try await remote.objects.list())
    }
    let before = try await audit()
    let (refused, lost) = (before.problems.filter(\.isDenied), before.problems.filter { !$0.isDenied })
    #expect(lost.compactMap(\.entry?.log?.zone) == [other], "\(before.problems)")
    // Each of three assets; for an amendment, also the entry that it may replace.
    let count = [.asset, .chunk].contains(denied) ? 3 : denied == .amendment ? 2 : 1
    #expect(refused.count == count, "\(before.problems)")
    for problem in refused {
      #expect(problem.place.hasPrefix("logs/\(first)") && problem.message.contains("Permission denied"))
      #expect(problem.entry == nil && problem.asset == nil)
    }
    var repair = RemoteRepair(remote, from: device.store)
    try await repair.addLostEvents()
    try await repair.repairLogs(before)
    let outcomes = repair.steps.filter { $0.place.log?.zone == other }.map(\.outcome)
    #expect(outcomes == [.putBack], "\(repair.steps)")
    #expect(repair.steps.allSatisfy { $0.place.log?.zone == other || $0.outcome != .putBack })
    let after = try await audit()
    #expect(after.problems.count == refused.count && after.problems.allSatisfy(\.isDenied))
    device.store.close()
  }
}

/// An object store that denies some names.
private struct DeniedObjects: ObjectStore {
  let objects: any ObjectStore
  /// Whether an error has the object's name, or only a directory that contains it.
  let hasNames: Bool
  /// Whether the objects can still be listed.
  let isListed: Bool
  let isDenied: @Sendable (ObjectName) -> Bool

  var name: String { objects.name }

  private func check(_ name: ObjectName) throws(RemoteError) {
    guard isDenied(name) else { return }
    let error = FileError(number: EACCES, call: "openat", path: "\(name)").remoteError
    throw hasNames ? error.at(name) : error
  }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try check(name)
    return try await objects.get(name, bytesMax: bytesMax)
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    try check(name)
    return try await objects.getPrefix(name, count)
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    try check(name)
    return try await objects.putIfAbsent(name, bytes)
  }

  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    try check(name)
    try await objects.overwrite(name, bytes)
  }

  func makeLasting(_ name: ObjectName) async throws(RemoteError) {
    try await objects.makeLasting(name)
  }

  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    try await objects.nextEntry(after: name)
  }

  func list() async throws(RemoteError) -> [ObjectEntry] {
    try await objects.list().filter { isListed || !($0.name.map(isDenied) ?? false) }
  }

  func delete(_ name: ObjectName) async throws(RemoteError) {
    try check(name)
    try await objects.delete(name)
  }

  func changes() -> AsyncStream<RemoteHint> { objects.changes() }
}
