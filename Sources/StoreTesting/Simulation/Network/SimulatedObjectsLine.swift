import Replicator

/// The client of a device for an object store: the device runs the log's algorithm, and each verb on objects
/// crosses the network.
struct SimulatedObjectsLine: ObjectStore {
  let world: SimulatedWorld
  let process: SimulatedProcess

  private var network: SimulatedNetwork { SimulatedNetwork(world) }

  var name: String { "simulated" }

  func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    let objects = try objects
    return try await network.call(
      process, "get \(name)",
      damage: { bytes, choices in bytes == nil ? nil : network.spoil(&bytes!, &choices) },
      request: { () throws(RemoteError) in
        try BlockedDirectories(world).check(name)
        return try await objects.get(name, bytesMax: bytesMax)
      })
  }

  func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    let objects = try objects
    return try await network.call(
      process, "getPrefix \(name)",
      damage: { prefix, choices in prefix == nil ? nil : network.spoil(&prefix!.bytes, &choices) },
      request: { () throws(RemoteError) in
        try BlockedDirectories(world).check(name)
        return try await objects.getPrefix(name, count)
      })
  }

  func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    let objects = try objects
    return try await network.call(process, "put \(name)", writes: true) { () throws(RemoteError) in
      try BlockedDirectories(world).check(name)
      return try await objects.putIfAbsent(name, bytes)
    }
  }

  func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    let objects = try objects
    let wall = world.wall(of: world.devices[process.device])
    return try await network.call(process, "put \(name)", writes: true) { () throws(RemoteError) in
      try BlockedDirectories(world).check(name)
      let put = try await objects.putIfAbsent(name, timed: bytes)
      if case .put(let time?) = put { world.place.note(name, wall: wall, place: time) }
      return put
    }
  }

  func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    let objects = try objects
    return try await network.call(process, "overwrite \(name)", writes: true) { () throws(RemoteError) in
      try await objects.overwrite(name, bytes)
    }
  }

  /// Without a crossing: all objects of the world are in memory, where they are durable at once.
  func makeLasting(_ name: ObjectName) async throws(RemoteError) { try await objects.makeLasting(name) }

  func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    let objects = try objects
    return try await network.call(process, "nextEntry \(name)") { () throws(RemoteError) in
      try BlockedDirectories(world).check(name)
      return try await objects.nextEntry(after: name)
    }
  }

  func list() async throws(RemoteError) -> [ObjectEntry] {
    let objects = try objects
    return try await network.call(process, "list") { () throws(RemoteError) in
      try await objects.list()
    }
  }

  func delete(_ name: ObjectName) async throws(RemoteError) {
    let objects = try objects
    return try await network.call(process, "delete \(name)", writes: true) { () throws(RemoteError) in
      try BlockedDirectories(world).check(name)
      try await objects.delete(name)
    }
  }

  func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }

  /// The objects that the device sees now. A request goes to them, even if other objects are mounted when it
  /// arrives.
  private var objects: any ObjectStore {
    get throws(RemoteError) { try world.place.objects(as: world.devices[process.device].mount) }
  }
}
