import EventStore
import OperationFormat
import Replicator
import Synchronization

/// Where the remote of a world lies, and what else may be in its place.
final class SimulatedPlace: Sendable {
  /// What a device finds where its remote should be.
  enum Mount: Sendable { case right, nothing, foreign, old }

  private let objects: KeptObjects
  let server: ObjectRemote
  private let foreign: MemoryObjects
  private let receivedMilliseconds: (@Sendable () -> UInt64)?
  /// How many objects had been put when that was last asked.
  private let seen = Mutex(0)
  /// The remote as nobody's network lies before it.
  let observer: ObjectRemote
  /// A copy of what was there once; nil while there is none.
  private let copied = Mutex<MemoryObjects?>(nil)

  init(
    _ objects: any ObjectStore, marker: [UInt8], foreign: MemoryObjects,
    receivedMilliseconds: (@Sendable () -> UInt64)?
  ) {
    self.objects = KeptObjects(objects, marker: marker)
    self.receivedMilliseconds = receivedMilliseconds
    server = ObjectRemote(self.objects, receivedMilliseconds: receivedMilliseconds)
    observer = ObjectRemote(objects, isReadOnly: true)
    self.foreign = foreign
  }

  /// Whether anything was put since this was last asked.
  func takeChange() -> Bool {
    let count = objects.count
    return seen.withLock { seen in
      defer { seen = count }
      return seen != count
    }
  }

  /// Makes a copy of what is there now.
  ///
  /// - Returns: false if there is one.
  func copy() -> Bool {
    copied.withLock { copied in
      guard copied == nil else { return false }
      copied = objects.copy()
      return true
    }
  }

  /// The copy, which can be written to: nothing before it was made.
  func oldCopy() throws(RemoteError) -> MemoryObjects {
    guard let copy = copied.withLock({ $0 }) else {
      throw RemoteError(.notARemote, "there is no copy", hint: "make one first")
    }
    return copy
  }

  /// What takes calls of a remote.
  func log(as mount: Mount) throws(RemoteError) -> any RemoteLog {
    mount == .right ? server : makeLog(over: try objects(as: mount))
  }

  /// The log's algorithm over objects.
  func makeLog(over objects: any ObjectStore) -> ObjectRemote {
    ObjectRemote(objects, receivedMilliseconds: receivedMilliseconds)
  }

  /// What takes the verbs of an object store.
  func objects(as mount: Mount) throws(RemoteError) -> any ObjectStore {
    switch mount {
    case .right: objects
    case .nothing: ReadOnlyObjects(MemoryObjects(name: "nothing"))
    case .foreign: ReadOnlyObjects(foreign)
    case .old: ReadOnlyObjects(try oldCopy())
    }
  }
}

extension SimulatedPlace {
  /// Makes an empty remote.
  static func make(
    _ configuration: SimulationConfiguration, _ directory: String, _ clock: SimulatedClock,
    _ executor: SimulatedExecutor, _ random: SeededRandom
  ) throws -> SimulatedPlace {
    let random = DeviceRandom(random)
    let identity = RemoteID(rawValue: UInt128(random.next()) << 64 | UInt128(random.next()))
    let other = RemoteID(rawValue: UInt128(random.next()) << 64 | UInt128(random.next()))
    let memory = MemoryRemote(identity: identity).objects
    let marker = memory.contents[.marker]!
    var objects: any ObjectStore = memory
    if configuration.place == .folder {
      let folder = FolderObjects(directory: "\(directory)/remote", makeRandom: { random.next() })
      try executor.wait { try await folder.create(identity) }
      objects = folder
    }
    let start = configuration.startMilliseconds
    let receivedMilliseconds = configuration.remoteClockOffset.map { offset in
      { @Sendable in UInt64(start + offset + clock.milliseconds) }
    }
    return SimulatedPlace(
      objects, marker: marker, foreign: MemoryRemote(identity: other, name: "foreign").objects,
      receivedMilliseconds: receivedMilliseconds)
  }
}

/// Objects that remember in which order they were put.
private final class KeptObjects: ObjectStore {
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

  func copy() -> MemoryObjects {
    let copy = MemoryObjects(name: "old copy")
    for (name, bytes) in puts.withLock({ $0 }) { copy.replace(name, with: bytes) }
    return copy
  }
}

/// Objects that nothing can be put into, as a copy that is mounted for reading.
private struct ReadOnlyObjects: ObjectStore {
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

extension FetchOutcome {
  /// The same as an older version sees it, for which some segments are of a newer format.
  func asNewer(_ isNewer: (UInt64) -> Bool) -> FetchOutcome {
    guard case .segments(var page, let hasMore) = self else { return self }
    for index in page.indices where isNewer(page[index].offset) { page[index].raiseVersion() }
    return .segments(page, hasMore: hasMore)
  }
}

extension StoredSegment {
  /// Makes the header that of a version to come: four bytes of magic, then the version; after the flags, the header's
  /// bytes, of which the last four are the checksum of the others.
  fileprivate mutating func raiseVersion() {
    let count = Int(bytes[6]) | Int(bytes[7]) << 8
    guard count > 8, count <= bytes.count else { return }
    bytes[4] = 255
    let header = Array(bytes[..<(count - 4)])
    let checksum = crc32c(header.span.bytes)
    for index in 0..<4 { bytes[count - 4 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index)) }
  }
}
